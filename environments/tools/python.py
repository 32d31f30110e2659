"""The built-in tool ``python``: an interpreter in the kit's sandbox, one for each episode."""

import json
import subprocess
from functools import cache
from typing import Any

from environments.tools.spec import ERROR
from reward.sandbox import run

CPU_SECONDS = 3600.0  # of an episode; --tool_timeout is the limit of a turn
MOST = 1 << 20  # bytes of an answer


def python(code: str) -> str:
    """Run Python code, and return what it prints, with the value of its last line.

    What the code defines is there for the next call. It has no network, and files in its own folder alone.

    Args:
        code: the code
    """
    answer = _interpreter().run(code)
    if not answer["error"]:
        return answer["printed"]
    return f"{ERROR}{answer['error']}\n{answer['printed']}".rstrip("\n")


class _InterpreterProcess:
    """The process that runs the code; it ends with this one."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            run.command("code_process.interpreter", CPU_SECONDS),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=run.environment(),
        )

    def run(self, code: str) -> dict[str, str]:
        """Return ``printed`` and ``error`` of a piece of code: what the other side says, and it is the policy's."""
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None and answers is not None
        try:
            requests.write(json.dumps({"code": code}).encode() + b"\n")
            requests.flush()
            reply: Any = json.loads(answers.readline(MOST))
            return {name: str(reply[name]) for name in ("printed", "error")}
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            self._process.kill()
            self._process.wait()
            _interpreter.cache_clear()
            return {"printed": "", "error": "the interpreter has ended, and what was defined is gone"}


@cache
def _interpreter() -> _InterpreterProcess:
    return _InterpreterProcess()
