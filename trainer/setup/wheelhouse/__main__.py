"""``python -m trainer.setup.wheelhouse make|verify ...``; faults are a line each, with exit status 2."""

import sys

from reward.support.redact import redact_streams
from trainer.setup.wheelhouse import make, verify
from trainer.user_error import UserError, fail, say

COMMANDS = {"make": make.main, "verify": verify.main}


if __name__ == "__main__":
    redact_streams()
    try:
        sys.exit(COMMANDS[sys.argv[1]](sys.argv[2:]))
    except UserError as error:
        sys.exit(fail(error))
    except KeyboardInterrupt:
        say("train.sh: stopped; what was fetched is kept; run the same command again to continue", sys.stderr)
        sys.exit(130)
