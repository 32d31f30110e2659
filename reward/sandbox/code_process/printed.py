"""What a policy's code prints."""

import io


class Printed(io.StringIO):
    """Keeps what is written, up to ``limit`` characters."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def write(self, text: str) -> int:
        """Keep ``text``; drop what is too much."""
        return super().write(text) if self.tell() < self._limit else len(text)

    def take(self) -> str:
        """Return all of it, and forget it; nothing if the code has closed it."""
        if self.closed:
            return ""
        text = self.getvalue()[: self._limit] if self.tell() else ""
        self.seek(0)
        self.truncate()
        return text
