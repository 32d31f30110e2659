"""What a program finds in the memory that it was forked with: nothing of the tests of those before it."""

import pytest

from reward.entry import compute_score
from reward.sandbox import run as sandbox
from reward.worker_pool.pool import Pool

# Reads its own memory page by page, by a system call that fails where there is none, and looks for asserts. The
# pattern does not match itself.
SEARCH = """
import ctypes, os, re
libc = ctypes.CDLL(None)
libc.sbrk.restype = ctypes.c_void_p
source, sink = os.pipe()
WANTED = re.compile(b"[a]ssert f.{4,12}[=]= ([0-9]+)")
def search():
    leaked, seen = [], set()
    for start in (id(object()), id(os), id([0] * 100000), libc.sbrk(0) - 1):
        for step in (-4096, 4096):
            page, missed = start & ~4095, 0
            while missed < 20000 and len(seen) < 60000:
                if page not in seen and libc.write(sink, ctypes.c_void_p(page), ctypes.c_size_t(4096)) == 4096:
                    seen.add(page)
                    leaked += WANTED.findall(os.read(source, 4096))
                    missed = 0
                else:
                    missed += 1
                page += step
    return len(leaked), len(seen)
FOUND, PAGES = search()
def f(x):
    return 2 if {condition} else 7
"""


@pytest.fixture
def one_server(monkeypatch) -> None:
    monkeypatch.setattr(sandbox, "_pool", Pool(1, sandbox._worker))


def grade(code: str, tests: str) -> float:
    return compute_score("code", f"```python\n{code}\n```", tests, {})["score"]


@pytest.mark.usefixtures("one_server")
@pytest.mark.parametrize("number", [40, 400, 4000])
def test_no_tests_of_an_earlier_response_are_left(number) -> None:
    tests = "".join(f"assert f({x}) == {x * 7919 + 13}\n" for x in range(number))
    for _ in range(3):
        assert grade("def f(x):\n    return x * 7919 + 13", tests) == 1.0
    assert grade(SEARCH.replace("{condition}", "PAGES > 1000"), "assert 2 == f(1)") == 1.0  # it does search
    assert grade(SEARCH.replace("{condition}", "FOUND"), "assert 2 == f(1)") == 0.0
    for worker in sandbox._pool._idle:
        worker.close()
