"""Code: the response's program or functions, under the row's unit tests, in a sandbox (``reward/sandbox/``).

Source: the shapes of HumanEval (Chen et al. 2021), MBPP (Austin et al. 2021) and APPS (Hendrycks et al. 2021). Code
that fails, hangs or attacks scores 0; only a sandbox or tests that cannot be run leave a sample unscored.
"""

import json
import re
from typing import Any

from reward.errors import GroundTruthError
from reward.rules.rule import Extra, Outcome, Rule

FENCE = re.compile(r"```[ \t]*(?:(?:python3?|py)[ \t\r]*)?\n(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)
LONGEST = 131_072  # characters of code
KEYS = ("tests", "test", "test_list", "inputs", "outputs", "entry_point", "setup", "test_setup_code", "test_imports")
PROMPTS = ("code_prompt", "prompt_code")  # what a completion goes on from


def extract(response: str) -> str:
    """Return the last fenced block, else the whole response."""
    blocks = FENCE.findall(response)
    return blocks[-1] if blocks else response


def job(ground_truth: Any, extra: Extra) -> dict[str, Any]:
    """Return the tests: from the ground truth (an object, JSON, or their source), and from ``extra_info``.

    Keys: ``tests``, ``test`` or ``test_list`` (source, or a list of asserts), with ``entry_point`` where they define
    ``check(candidate)``; or ``inputs`` and ``outputs`` of a program; ``setup`` (or MBPP's names of it) runs first.

    Raises:
        GroundTruthError: there are no tests.
    """
    found = {key: extra[key] for key in KEYS if extra.get(key) is not None}
    found |= _object(ground_truth)
    tests = next((found[key] for key in ("tests", "test", "test_list") if found.get(key) is not None), None)
    if isinstance(tests, dict):
        found |= tests
        tests = None
    inputs, outputs = found.get("inputs"), found.get("outputs")
    if inputs is not None and outputs is not None:
        if len(inputs) != len(outputs) or not len(inputs):
            raise GroundTruthError(
                f"{len(inputs)} inputs and {len(outputs)} outputs: as many of each, and one at least"
            )
        return {"inputs": [str(text) for text in inputs], "outputs": [str(text) for text in outputs]}
    source = tests if isinstance(tests, str) or tests is None else "\n".join(str(test) for test in tests)
    if not (source or "").strip():
        raise GroundTruthError("no tests: give tests, test_list, or inputs and outputs in ground_truth or extra_info")
    try:
        compile(source or "", "tests", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise GroundTruthError(f"the tests are no Python: {error}") from None
    setup = found.get("setup") or found.get("test_setup_code") or found.get("test_imports") or ""
    return {
        "tests": source,
        "entry_point": found.get("entry_point"),
        "setup": setup if isinstance(setup, str) else "\n".join(str(line) for line in setup),
    }


def _object(ground_truth: Any) -> dict[str, Any]:
    if isinstance(ground_truth, dict):
        return {key: value for key, value in ground_truth.items() if value is not None}
    if isinstance(ground_truth, str) and ground_truth.strip():
        try:
            read = json.loads(ground_truth)
        except ValueError:
            return {"tests": ground_truth}
        return read if isinstance(read, dict) else {"tests": read if isinstance(read, list) else ground_truth}
    return {"tests": ground_truth} if isinstance(ground_truth, (list, tuple)) and ground_truth else {}


def check(ground_truth: Any, extra: Extra) -> None:
    """Refuse a row without tests."""
    job(ground_truth, extra)


def score(response: str, ground_truth: Any, extra: Extra) -> Outcome:
    """Return 1.0 if the code passes all tests, else 0.0; out of time is 0.0 too, and told.

    Raises:
        GroundTruthError: there are no tests.
        GraderFailed: there is no sandbox on this machine, or the tests cannot be run in it.
    """
    from reward.sandbox.run import run_tests

    wanted, code = job(ground_truth, extra), extract(response)
    prompt, entry = next((extra[key] for key in PROMPTS if extra.get(key)), ""), wanted.get("entry_point")
    if prompt and entry and not re.search(rf"def\s+{re.escape(entry)}\b", code):
        code = f"{prompt}{code}"  # a completion goes on where the prompt ends
    if not code.strip() or len(code) > LONGEST:
        return Outcome(0.0)
    verdict = run_tests({"code": code, **wanted})
    return Outcome(float(verdict.passed), verdict.timeout)


def example(ground_truth: Any, extra: Extra) -> str | None:
    """Return the row's own solution, where it has one."""
    own = extra.get("solution") or extra.get("canonical_solution") or extra.get("code")
    return f"```python\n{own}\n```" if own else None


RULE = Rule("code", score, check, example)
