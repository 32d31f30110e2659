"""``python -m trainer.wheelhouse make|open ...``: exit status 2, and a line a fault, where something must be mended."""

import sys

from reward.redact import redact_streams
from trainer.settings import UserError, fail
from trainer.wheelhouse import make, opened

COMMANDS = {"make": make.main, "open": opened.main, "extras": opened.print_extras}


if __name__ == "__main__":
    redact_streams()
    try:
        sys.exit(COMMANDS[sys.argv[1]](sys.argv[2:]))
    except UserError as error:
        sys.exit(fail(error))
    except KeyboardInterrupt:
        print("train.sh: stopped; what was fetched is kept, and the same command goes on", file=sys.stderr)
        sys.exit(130)
