"""Streams in memory (``io.StringIO``, ``io.BytesIO``), which tests hand to the code, or put in the place of stdin.

Each process has a stream of its own. What one holds and where it stands crosses as ``[class, content, position]``, and
``[class, None, 0]`` where it is closed; bytes as hexadecimal digits.
"""

import io
from typing import Any


class Text(io.StringIO):
    """In the code's process, a stream of text that the tests gave it."""

    __module__, __qualname__ = "_io", "StringIO"


class Bytes(io.BytesIO):
    """In the code's process, a stream of bytes that the tests gave it."""

    __module__, __qualname__ = "_io", "BytesIO"


Text.__name__, Bytes.__name__ = "StringIO", "BytesIO"
OF_TESTS: dict[str, Any] = {"StringIO": io.StringIO, "BytesIO": io.BytesIO}
OF_CODE: dict[str, Any] = {"StringIO": Text, "BytesIO": Bytes}
STREAMS = (io.StringIO, io.BytesIO)


def encode(stream: Any) -> dict[str, Any] | None:
    """Return a stream of these classes, and of none derived from them, as JSON; None for all else."""
    kind = next((name for known in (OF_TESTS, OF_CODE) for name, kind in known.items() if type(stream) is kind), None)
    if kind is None:
        return None
    if stream.closed:
        return {"stream": [kind, None, 0]}
    content = stream.getvalue()
    return {"stream": [kind, content if kind == "StringIO" else content.hex(), stream.tell()]}


def decode(content: Any, kinds: dict[str, Any]) -> Any:
    """Return a stream.

    Args:
        content: as ``encode`` has it.
        kinds: ``OF_TESTS`` or ``OF_CODE``, by the side that reads it.

    Raises:
        ValueError: it is none, by its name, its content or its position.
    """
    if type(content) is not list or len(content) != 3 or type(content[2]) is not int or content[2] < 0:
        raise ValueError("no stream")
    name, held, position = content
    if type(name) is not str or name not in kinds or not (held is None or type(held) is str):
        raise ValueError("no stream")
    stream = kinds[name]((held or "") if name == "StringIO" else bytes.fromhex(held or ""))
    if held is None:
        stream.close()
    else:
        stream.seek(position)
    return stream


def overwrite(target: Any, new: Any) -> None:
    """Make of a stream what the other side made of it."""
    if target.closed or new.closed:
        target.close()
        return
    if target.getvalue() != new.getvalue():
        target.seek(0)
        target.truncate()
        target.write(new.getvalue())
    target.seek(new.tell())
