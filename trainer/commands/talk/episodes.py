"""Episodes of an environment, played by a person and a model: who gives no action has the model play."""

import asyncio
from collections.abc import Iterator

from data.environment.episodes import HELD_OUT_FIRST
from environments.episodes import Episodes, Turn
from environments.spec import EnvSpec
from environments.text_env import EpisodeError
from trainer.commands.talk.speaker import Speaker, Talk, tell
from trainer.workers.rollout.multi_turn.turn_tokens import TurnTokens

NAME = "chat"


class Play(Talk):
    """Plays held-out episodes, one after another."""

    hint = "Enter lets the model play, a line of yours is played instead; /reset begins the next episode, /quit ends"
    takes_empty = True

    def __init__(self, speaker: Speaker, spec: EnvSpec, most: int) -> None:
        super().__init__(speaker)
        self._most, self._seed, self._over, self._return = most, HELD_OUT_FIRST - 1, False, 0.0
        self._loop, self._turns, self._episodes = (
            asyncio.new_event_loop(),
            TurnTokens(speaker.tokenizer),
            Episodes(spec),
        )
        self._ids: list[int] = []

    def reset(self) -> Iterator[str]:
        """Begin the next episode; return its rules and what is seen first."""
        self._seed, self._over, self._return = self._seed + 1, False, 0.0
        try:
            rules = self._loop.run_until_complete(self._episodes.rules())
            turn = self._loop.run_until_complete(self._episodes.reset(NAME, self._seed))
        except EpisodeError as error:
            self._broken(error)
            return
        text = f"{rules}\n\n{turn.observation}" if rules else turn.observation
        self._ids = self.speaker.prompt([{"role": "user", "content": text}])
        yield text

    def answer(self, line: str) -> Iterator[str]:
        """Play one turn; after the last one, begin the next episode."""
        if self._over:
            yield from self.reset()
            return
        if len(self._ids) >= self.speaker.limit:
            self.too_long()
            self._over = True
            return
        if action := line.strip():
            said = [
                *self.speaker.tokenizer.encode(action, add_special_tokens=False),
                self.speaker.tokenizer.eos_token_id,
            ]
        else:
            yield from self.speaker.speak(self._ids, self._most)
            said = self.speaker.said
            yield "\n"
        try:
            words = self.speaker.tokenizer.decode(said, skip_special_tokens=True)
            turn = self._loop.run_until_complete(self._episodes.step(NAME, words))
        except EpisodeError as error:
            self._broken(error)
            return
        self._return += turn.reward
        self._ids += [*said, *self._turns.following(said, [{"role": "user", "content": turn.observation}])]
        yield turn.observation + self._told(turn)

    def _told(self, turn: Turn) -> str:
        """Return what there is to say of a turn beside what is seen."""
        self._over = turn.done
        if not turn.done:
            return f"\n(reward {turn.reward:g})" if turn.reward else ""
        how = "cut" if turn.truncated else "over"
        success = turn.info.get("success")
        goal = "" if success is None else ", goal reached" if success else ", goal not reached"
        return (
            f"\n({how} after {turn.info['turn']} turns: return {self._return:g}{goal}; Enter begins the next episode)"
        )

    def _broken(self, error: EpisodeError) -> None:
        tell(f"--env: {error}; the next line begins another episode")
        self._over = True

    def close(self) -> None:
        """End the environment."""
        self._loop.run_until_complete(self._episodes.shutdown())
        self._loop.close()
