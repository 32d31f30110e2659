"""Manifests of a wheelhouse that lie: a line is a place in wheelhouse.json, and what is put there.

The place is a path of keys. A file name and a checksum become paths and arguments of pip and uv.
"""

from typing import Any

Place = tuple[str, ...]
PLAIN: Place = ("wheels", "plain-1.0-py3-none-any.whl")
SHA256 = "0" * 64
LIES: dict[str, tuple[Place, Any]] = {
    "a file above": (("wheels", "../../evil-1.0-py3-none-any.whl"), SHA256),
    "a file anywhere": (("wheels", "/tmp/evil-1.0-py3-none-any.whl"), SHA256),
    "a file above, in its tag": (("wheels", "evil-1.0-py3-none-any/../../evil.whl"), SHA256),
    "a file that is no wheel": (("wheels", "passwd"), SHA256),
    "a file that is an option": (("wheels", "--index-url=http://evil.example-1.0-py3-none-any.whl"), SHA256),
    "a file with a line's end": (("wheels", "evil\n-1.0-py3-none-any.whl"), SHA256),
    "a file with a blank": (("wheels", "evil -1.0-py3-none-any.whl"), SHA256),
    "a file of another package's name and an option": (("wheels", "plain --no-index-1.0-py3-none-any.whl"), SHA256),
    "an endless name": (("wheels", "a" * 5000 + "-1.0-py3-none-any.whl"), SHA256),
    "a package twice": (("wheels", "plain-1.0-py2.py3-none-any.whl"), SHA256),
    "no checksum": (PLAIN, ""),
    "half a checksum": (PLAIN, "0" * 32),
    "a checksum with an option": (PLAIN, SHA256 + " --no-index"),
    "a checksum with a line's end": (PLAIN, SHA256 + "\n"),
    "a checksum that is a number": (PLAIN, 7),
    "a checksum that is a list": (PLAIN, [SHA256]),
    "wheels that are a list": (("wheels",), ["plain-1.0-py3-none-any.whl"]),
    "wheels that are a text": (("wheels",), "plain-1.0-py3-none-any.whl"),
    "built files that are not listed": (("built",), ["evil-1.0-py3-none-any.whl"]),
    "built files that are a text": (("built",), "plain-1.0-py3-none-any.whl"),
    "built files that are nested": (("built",), [["plain-1.0-py3-none-any.whl"]]),
    "a key of its own": (("script",), "evil"),
    "a device that is none": (("target", "device"), "tpu"),
    "a target with a path": (("target", "python"), "3.11/../.."),
    "a target that is a text": (("target",), "cpu"),
    "a glibc that is a text": (("target", "glibc"), "31"),
    "left_out that is a list": (("left_out",), ["torch"]),
    "left_out that is nested": (("left_out",), {"torch": {"a": 1}}),
    "complete that is a text": (("complete",), "yes"),
}
