"""A conversation with the model alone."""

from collections.abc import Iterator

from trainer.commands.talk.speaker import Speaker, Talk


class Plain(Talk):
    """Remembers the turns; the oldest go where it grows too long."""

    def __init__(self, speaker: Speaker, system: str, most: int) -> None:
        super().__init__(speaker)
        self._system, self._most = system, most
        self.turns: list[dict[str, str]] = []

    def reset(self) -> Iterator[str]:
        """Begin anew, with the system prompt if there is one."""
        self.turns = [{"role": "system", "content": self._system}] if self._system else []
        return iter(())

    def answer(self, line: str) -> Iterator[str]:
        """Return the model's answer."""
        self.turns.append({"role": "user", "content": line})
        ids = self.speaker.prompt(self.turns)
        first = 1 if self._system else 0
        while len(ids) + self._most > self.speaker.limit and len(self.turns) > first + 2:
            del self.turns[first : first + 2]
            ids = self.speaker.prompt(self.turns)
        if len(ids) >= self.speaker.limit:
            self.turns.pop()
            self.too_long()
            return
        reply = ""
        for piece in self.speaker.speak(ids, self._most):
            reply += piece
            yield piece
        self.turns.append({"role": "assistant", "content": reply})
