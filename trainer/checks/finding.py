"""What a check before launch found out."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Literal

from data.models import ModelError
from data.parquet import DataError
from reward.support.wording import LINE, shown, system_error_text
from trainer.settings.messages import in_language
from trainer.user_error import UserError

State = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class Finding:
    """One line: what was looked at, and how it is. ``forced``: ``--force`` goes on in spite of it."""

    what: str
    state: State
    text: str
    forced: bool = False

    def __str__(self) -> str:
        """Return the line of ``./train.sh check``."""
        return f"{self.state:<5}{self.what:<12}{shown(in_language(self.text), LINE)}"


def failures(what: str, faults: list[str], forced: bool = False) -> list[Finding]:
    """Return one finding for each fault."""
    return [Finding(what, "fail", fault, forced) for fault in faults]


def guarded(what: str, function: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """Run a check; what it raises for the person to fix becomes its findings."""
    findings: list[Finding] = []
    try:
        for finding in function():
            findings.append(finding)
    except (UserError, DataError) as error:
        findings += failures(what, list(error.faults))
    except ModelError as error:
        findings += failures(what, [str(error)])
    except OSError as error:
        findings += failures(what, [system_error_text(error)])
    return findings


def run_in_thread(what: str, function: Callable[[], Iterator[Finding]]) -> Future[list[Finding]]:
    """Run a check in a thread of its own, which does not keep the program from ending at a signal."""
    future: Future[list[Finding]] = Future()

    def run() -> None:
        try:
            future.set_result(guarded(what, function))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future
