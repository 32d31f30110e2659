"""Manifests of a wheelhouse that lie: a line is a place in wheelhouse.json, and what is put there.

The place is a path of keys and indices; the wheel at 0 is whole.
"""

from typing import Any

Place = tuple[str | int, ...]
FILE: Place = ("wheels", 0, "file")
PIECE: Place = ("wheels", 0, "pieces", 0)
LIES: dict[str, tuple[Place, Any]] = {
    "a file above": (FILE, "../../evil-1.0-py3-none-any.whl"),
    "a file anywhere": (FILE, "/tmp/evil-1.0-py3-none-any.whl"),
    "another package's file": (FILE, "evil-1.0-py3-none-any.whl"),
    "a file with a line's end": (FILE, "evil\n-1.0-py3-none-any.whl"),
    "a file that is a number": (FILE, 7),
    "an endless name": (FILE, "a" * 5000 + "-1.0-py3-none-any.whl"),
    "a name with an option": (("wheels", 0, "name"), "plain --index-url http://evil.example"),
    "no checksum": (("wheels", 0, "sha256"), ""),
    "half a checksum": (("wheels", 0, "sha256"), "0" * 32),
    "a checksum with an option": (("wheels", 0, "sha256"), "0" * 64 + " --no-index"),
    "another checksum than the piece's": (("wheels", 0, "sha256"), "0" * 64),
    "a source that is no checksum": (("wheels", 0, "source"), "yes"),
    "a negative size": (("wheels", 0, "size"), -1),
    "a size of all disks": (("wheels", 0, "size"), 10**30),
    "a size that is a text": (("wheels", 0, "size"), "12"),
    "no pieces": (("wheels", 0, "pieces"), []),
    "pieces that are none": (("wheels", 0, "pieces"), [1]),
    "a part above": ((*PIECE, "part"), "../.."),
    "a part anywhere": ((*PIECE, "part"), "/etc"),
    "a piece above": ((*PIECE, "file"), "../../../etc/passwd"),
    "a piece of another": ((*PIECE, "file"), "passwd"),
    "a piece without a checksum": ((*PIECE, "sha256"), ""),
    "a piece of another size": ((*PIECE, "size"), 3),
    "a key of its own": (("wheels", 0, "script"), "evil"),
    "wheels that are none": (("wheels",), {"a": 1}),
    "a target that is none": (("target",), {"device": "tpu", "python": "3.11", "glibc": 31}),
    "a target with a path": (("target", "python"), "3.11/../.."),
    "a glibc that is a text": (("target", "glibc"), "31"),
    "left_out that is a list": (("left_out",), ["torch"]),
    "left_out that is nested": (("left_out",), {"torch": {"a": 1}}),
    "complete that is a text": (("complete",), "yes"),
}
