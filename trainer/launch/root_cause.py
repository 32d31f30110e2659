"""The one exception that matters, out of a log of hundreds of lines of nested tracebacks."""

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PREFIX = re.compile(r"^\x1b?\[?\d*m?\((?P<who>[^()]*?pid=\d+[^()]*)\)\x1b?\[?\d*m? ?")
ANSI = re.compile(r"\x1b\[[\d;]*m")
LEVEL = re.compile(r"^(ERROR|WARNING|INFO) \d\d-\d\d \d\d:\d\d:\d\d \[[^]]*\] ?")
# The last line of a traceback: a name that ends as Python's own do, or any class with its module before it.
EXCEPTION = re.compile(
    r"^(?P<type>(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Exit|Interrupt|Died|Timeout)|Exception"
    r"|(?:[A-Za-z_]\w*\.)+[A-Z]\w*)(?:: (?P<text>.*))?$"
)
BEGINNINGS = ("Traceback (most recent call last)", "ray::", "Exception raised in creation task")  # of a traceback
# What Ray must not drop because another process has printed it within five seconds: a traceback's beginning and end.
KEPT = "|".join(["ERROR", *map(re.escape, BEGINNINGS), EXCEPTION.pattern])
# Exceptions that only say that another one happened elsewhere.
MESSENGERS = (
    "RayTaskError",
    "ActorDiedError",
    "RayActorError",
    "EngineDeadError",
    "WorkerCrashedError",
    "ActorUnavailableError",
    "SystemExit",
    "CancelledError",
    "InstantiationException",
)
MESSENGER_TEXT = (
    "See root cause above",
    "Engine core initialization failed",
    "WorkerProc initialization failed",
    "EngineCore encountered an issue",
    "no materializable trajectories",  # verl/trainer/ppo/v1/replay_buffer.py: samples failed, and say why themselves
)
# Deaths that leave no exception: the news of the first one is all there is.
DEATHS = ("EngineDeadError", "ActorDiedError")
CLASS = re.compile(r"class_name: (\S+)")
SHOWN = 6  # lines of the message
WIDEST = 300  # characters of a line


@dataclass(frozen=True)
class Cause:
    """An exception of a log: its type, its message, and the process that raised it."""

    type: str
    text: str
    who: str

    @classmethod
    def of(cls, failure: Mapping[str, Any]) -> "Cause":
        """Return the cause that the event ``failure`` tells of."""
        return cls(failure["type"], "\n".join(failure["text"].splitlines()[:SHOWN]), failure["where"])


def find_cause(log: str) -> Cause | None:
    """Return the exception that ended the run; None where the log has none.

    The last one in the log that is not merely the news of another; if all are news, the first death, else the last.
    """
    causes: list[Cause] = []
    who, open_traceback = "", False
    lines = log.splitlines()
    for number, raw in enumerate(lines):
        who, line = _plain(raw)
        if line.startswith(BEGINNINGS):
            open_traceback = True
            continue
        match = EXCEPTION.match(line)
        if match and open_traceback:
            text = [match["text"] or ""]
            for following in lines[number + 1 : number + SHOWN]:
                other, more = _plain(following)
                if other != who or not more.strip() or more.startswith(("Traceback", "The above", "During", "ray::")):
                    break
                text.append(more)
            causes.append(Cause(match["type"].rsplit(".", 1)[-1], "\n".join(text).strip(), who))
            open_traceback = "ray::" in line  # Ray goes on with the traceback of the process that it names
    telling = [cause for cause in causes if not _is_messenger(cause)]
    deaths = [cause for cause in causes if cause.type in DEATHS]
    return telling[-1] if telling else deaths[0] if deaths else causes[-1] if causes else None


def _plain(line: str) -> tuple[str, str]:
    """Return the process that wrote a line, and what: Ray writes its name before what the process has written.

    Where that is vLLM's server, the line may begin with the name of a process of the server's own.
    """
    who, message = "", ANSI.sub("", line)
    while match := PREFIX.match(message):
        who, message = match["who"], message[match.end() :]
    return who, LEVEL.sub("", message)


def _is_messenger(cause: Cause) -> bool:
    return cause.type in MESSENGERS or any(text in cause.text for text in MESSENGER_TEXT)


def _says_why(death: Cause) -> bool:
    """Whether the news of a death says more than that."""
    return "creation task" in death.text


def describe(log: str, status: int, path: str, reported: Cause | None = None) -> str:
    """Return what is printed about a run that failed: at most 15 lines, the cause first, the log last.

    ``told`` is what the trainer says ended it. Where that is the news of a death elsewhere, or it could say nothing
    any more, the cause is looked for in the log: vLLM, Ray and the kernel tell of it there alone.
    """
    cause = reported if reported is not None and not _is_messenger(reported) else find_cause(log)
    if cause is None:
        tail = [line for line in log.splitlines() if line.strip()][-SHOWN:]
        how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        hint = " (out of memory?)" if status == -signal.SIGKILL else ""
        what = f"the run {how}{hint} without an exception; its last lines:\n  " + "\n  ".join(tail)
    elif cause.type in DEATHS and not _says_why(cause):
        part = CLASS.search(cause.text)
        who = "vLLM's engine" if cause.type == "EngineDeadError" else part[1] if part else "a process of the run"
        what = f"the run failed: {who} died without an exception: it was killed, or the machine ran out of memory"
    else:
        where = f" (in {cause.who})" if cause.who else ""
        what = f"the run failed{where}: {cause.type}: " + cause.text.replace("\n", "\n  ")
    lines = [line if len(line) <= WIDEST else line[:WIDEST] + " ..." for line in what.splitlines()]
    return "\n".join([*lines, f"the whole log: {path}"])
