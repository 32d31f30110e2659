"""``python -m trainer.settings [overrides]``: checks what was typed; prints the device that the environment is for."""

import os
import sys
from pathlib import Path

from reward.support.redact import redact_streams
from trainer import ROOT
from trainer.commands import OF_RUNS
from trainer.launch.cluster import rendezvous_client
from trainer.settings.settings import read_settings
from trainer.setup import host
from trainer.user_error import UserError, fail


def main() -> int:
    """Check what was typed; print the device that the environment is for, which is all that set-up needs to know.

    Where the environment is there already, its Python does the complaining: with verl at hand it finds more.
    """
    redact_streams()
    gpus = host.gpu_count()
    try:
        of_run = os.environ.get("KIT_COMMAND", "") in OF_RUNS
        settings = read_settings(os.environ, sys.argv[1:], gpus, reward_is_complete=not of_run)
    except UserError as error:
        environment = Path(os.environ.get("VENV") or ROOT / ".venv")
        if (environment / "kit-lock").is_file() and Path(sys.prefix) != environment:
            python = str(environment / "bin" / "python")
            os.execv(python, [python, "-m", "trainer.settings", *sys.argv[1:]])
        rendezvous_client.tell(os.environ, error.faults)
        return fail(error)
    except KeyboardInterrupt:
        return 130
    # A dry run needs no GPU, so it makes do with the environment of this machine.
    print(settings.text("DEVICE") if not settings.dry_run else ("cuda" if gpus else "cpu"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
