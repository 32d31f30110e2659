"""Code that runs as one of verl's processes would, with the kit's patches or without them."""

import os
import subprocess
import sys
import textwrap

UNDO = "import wrapt.importer; wrapt.importer._post_import_hooks.clear()"


def run(code: str, platform: str = "cpu", **extra: str) -> subprocess.CompletedProcess[str]:
    """Run ``code`` in a process of its own, as one of verl's would be with this platform."""
    environment = {k: v for k, v in os.environ.items() if k != "VERL_PLATFORM"} | extra
    if platform:
        environment["VERL_PLATFORM"] = platform
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, env=environment, check=False
    )
