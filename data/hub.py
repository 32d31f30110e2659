"""Whether the Hugging Face hub answers: asked once, with an end, as its libraries try for half a minute and say so."""

import contextlib
import threading
from collections.abc import Callable, Iterator

from reward.support.wording import reason

SECONDS = 6.0  # a resolver that gets no answer takes longer than any timeout of a connection


def silence(ask: Callable[[float], object]) -> str:
    """Ask the hub by ``ask``, which is given its seconds; return why there is no answer, empty where one came."""
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    outcome = [f"no answer within {SECONDS:g} s"]

    def run() -> None:
        try:
            ask(SECONDS)
        except HFValidationError:
            outcome[0] = ""
        except HfHubHTTPError as error:  # an answer: there is no such, it is not for everybody; or none but a status
            status = getattr(error.response, "status_code", 0)
            outcome[0] = f"it answers with status {status}" if status >= 500 else ""
        except Exception as error:
            outcome[0] = _why(error)
        else:
            outcome[0] = ""

    asking = threading.Thread(target=run, daemon=True)
    asking.start()
    asking.join(SECONDS)
    return outcome[0]


def _why(error: BaseException) -> str:
    """Return why there is no connection: what the system said, below what libraries made of it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno is not None:
            return reason(cause)
        cause = cause.__cause__ or cause.__context__
    return reason(error)


@contextlib.contextmanager
def offline() -> Iterator[None]:
    """Have the hub's libraries look into their caches alone, without a word."""
    import datasets.config
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE, datasets.config.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = datasets.config.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE, datasets.config.HF_HUB_OFFLINE = before
