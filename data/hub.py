"""Whether the Hugging Face hub answers: asked once, with an end, as its libraries try for half a minute and say so."""

import contextlib
import csv
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from reward.support.nearest import nearest
from reward.support.wording import reason

KNOWN = Path(__file__).parent.parent / "config" / "model_sizes.tsv"  # the models that many people train
PAGE = re.compile(r"https?://(?:www\.)?(?:huggingface\.co|hf-mirror\.com)/([\w.-]+/[\w.-]+)(?:/.*)?")
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


def page_meant(spec: str) -> str:
    """Return what to give in the place of a model's address; empty where it is none."""
    if page := PAGE.fullmatch(spec):
        return f"a page of the hub; give its name: {page[1]}"
    return "a URL is not fetched; download the model and give its folder" if "://" in spec else ""


def model_meant(name: str) -> str:
    """Return which of the models that many people train a name may be of, spelt otherwise or without its owner."""
    with KNOWN.open(encoding="utf-8", newline="") as file:
        known = [row["name"] for row in csv.DictReader(file, delimiter="\t")]
    tuned = re.sub("(?i)-(instruct|base)$", "", name)
    wanted = tuned if "/" in tuned else f"/{tuned}"
    same = [model for model in known if model.lower().endswith(wanted.lower())]
    near = same or nearest(tuned, known)
    return near[0] + name[len(tuned) :].title() if near and near[0] != tuned else ""


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
