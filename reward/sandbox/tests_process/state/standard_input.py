"""A stream that tests put in the place of ``sys.stdin``: the code, in its process, reads a copy of it."""

import io
import sys
from typing import Any

from reward.sandbox.copies import streams
from reward.sandbox.wire import WireError


class StandardInput:
    """What the code's process knows of ``sys.stdin``."""

    def __init__(self) -> None:
        self._known: list[Any] | None = None  # as ``streams.encode`` has it
        self._stream: Any = None

    def changed(self) -> list[Any] | None:
        """Return the stream for the code's process; None where it has it, or the tests have put none there."""
        if type(sys.stdin) is not io.StringIO:
            if self._known is None:
                return None
            self._known = self._stream = None
            return ["StringIO", "", 0]
        now: list[Any] = (streams.encode(sys.stdin) or {})["stream"]
        if now == self._known and sys.stdin is self._stream:
            return None
        self._known, self._stream = now, sys.stdin
        return now

    def learn(self, position: Any) -> None:
        """Note how far the code has read.

        Raises:
            WireError: it is no position.
        """
        if type(position) is not int or position < 0:
            raise WireError("no position")
        if self._stream is not None and not self._stream.closed:
            self._stream.seek(position)
            self._known = (streams.encode(self._stream) or {})["stream"]
