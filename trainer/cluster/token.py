"""Ray's token, which every machine of a run must have: who can reach Ray's port with it can run code.

Ray looks for it in RAY_AUTH_TOKEN, in the file that RAY_AUTH_TOKEN_PATH names, and in ~/.ray/auth_token, in this order;
so does this module, on the standard library alone.
"""

import contextlib
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

MODE = "RAY_AUTH_MODE"


def find(environ: Mapping[str, str]) -> str:
    """Return the token; an empty text where there is none."""
    if environ.get("RAY_AUTH_TOKEN", "").strip():
        return environ["RAY_AUTH_TOKEN"].strip()
    with contextlib.suppress(OSError):
        return place(environ).read_text(encoding="utf-8").strip()
    return ""


def place(environ: Mapping[str, str]) -> Path:
    """Return the file where a token is looked for."""
    named = environ.get("RAY_AUTH_TOKEN_PATH", "")
    return Path(named).expanduser() if named else Path.home() / ".ray" / "auth_token"


def make(environ: Mapping[str, str]) -> str:
    """Make a token where there is none; return it.

    Raises:
        OSError: its file cannot be written.
    """
    path, token = place(environ), secrets.token_hex(32)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(token)
    return token


def mode(insecure: bool) -> dict[str, str]:
    """Return the env var that tells Ray whether to ask for the token."""
    return {MODE: "disabled" if insecure else "token"}
