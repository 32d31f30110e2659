"""An interpreter for a policy's code that is given in pieces: what one defines, the next has.

This process makes the folder and the namespaces, and forks the one that runs the code and is locked down. Requests and
answers are lines of JSON: ``{"code": text}``, and ``{"printed": text, "error": text}``. The code can write answers of
its own: whoever reads them believes no more than that they are texts.
"""

import ast
import builtins
import json
import linecache
import os
import sys
import types
from typing import Any

from reward.sandbox import lockdown
from reward.sandbox.code_process.printed import Printed
from reward.sandbox.tests_process import folders
from reward.worker_pool import parent_death

REQUESTS, ANSWERS = 3, 4
MOST_PRINTED = 1 << 16  # characters of what one piece prints
NAME = "<call {}>"  # of a piece, as of a file


class Interpreter:
    """Runs pieces of code in one module."""

    def __init__(self) -> None:
        self._module = types.ModuleType("__main__")
        self._calls = 0
        sys.modules["__main__"] = self._module
        vars(builtins).update(exit=sys.exit, quit=sys.exit)  # which site would define

    def run(self, code: str) -> dict[str, str]:
        """Return what ``code`` prints, with the value of its last expression, and its error or an empty text."""
        self._calls += 1
        sys.stdout = sys.stderr = printed = Printed(MOST_PRINTED)
        error = ""
        try:
            value = self._execute(code, NAME.format(self._calls))
            if value is not None:
                print(repr(value))
        except BaseException as raised:  # SystemExit, or whatever the code makes
            error = _describe(raised, NAME.format(self._calls), code)
        return {"printed": printed.take().rstrip("\n"), "error": error}

    def _execute(self, code: str, name: str) -> Any:
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        tree = ast.parse(code, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), self._module.__dict__)
        if last is None:
            return None
        assert isinstance(last, ast.Expr)
        return eval(compile(ast.Expression(last.value), name, "eval"), self._module.__dict__)


def _describe(error: BaseException, name: str, code: str) -> str:
    """Return the error in one line, with the line of this call's ``code`` that raised it, or called what raised it."""
    try:
        text, at = str(error), error.lineno if isinstance(error, SyntaxError) else _line(error, name)
        if isinstance(error, SyntaxError):
            text = str(error.msg)
        lines = code.splitlines()
        shown = f" (line {at}: {lines[at - 1].strip()[:200]})" if at and at <= len(lines) else ""
        return f"{type(error).__name__}{f': {text[:2000]}' * bool(text)}{shown}"
    except BaseException:  # of the exception's own
        return "an error that cannot be shown"


def _line(error: BaseException, name: str) -> int:
    at, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == name:
            at = trace.tb_lineno
        trace = trace.tb_next
    return at


def main(settings: str) -> None:
    """Serve the descriptors 0 and 1 until the other side is gone; ``settings``: see ``reward.sandbox.run.command``."""
    parent_death.die_with_parent()
    place = json.loads(settings)
    sys.path[:] = [path for path in sys.path if path != sys.path[0]] + place["packages"]
    folders.sweep()
    with folders.run_folder() as folder:
        lockdown.try_isolate(folder)
        child = os.fork()
        if not child:
            _serve(folder, place)
        os.waitpid(child, 0)


def _serve(folder: str, place: dict[str, Any]) -> None:
    """Be the child that runs the code; never return."""
    try:
        parent_death.die_with_parent()
        os.chdir(folder)
        os.dup2(0, REQUESTS)
        os.dup2(1, ANSWERS)
        null = os.open("/dev/null", os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        os.closerange(ANSWERS + 1, 1024)
        fault = ""
        try:
            lockdown.lock(folder, place["readable"], place["seconds"])
        except lockdown.LockdownError as error:
            fault = f"there is no sandbox on this machine: {error}"
        interpreter = Interpreter()
        with os.fdopen(REQUESTS, "rb") as requests:
            while line := requests.readline():
                answer = {"printed": "", "error": fault} if fault else interpreter.run(json.loads(line)["code"])
                data = json.dumps(answer).encode() + b"\n"
                while data:
                    data = data[os.write(ANSWERS, data) :]
    finally:
        os._exit(0)
