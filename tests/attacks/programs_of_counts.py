"""Results that end before what is due, empty arrays for numbers, futures that are counted, tables that only the code defines."""

# ruff: noqa: E501 - programs on one line each
from typing import Any

Program = tuple[str, Any, dict[str, Any]]
ATTACKS: dict[str, Program] = {
    "APPS, True where a list of one is due": (
        "def f(x): return True",
        {"fn_name": "f", "inputs": [[1], [2]], "outputs": [[1], [1]]},
        {},
    ),
    "APPS, a number where lists are due": (
        "def f(x): return 1 if x==1 else [1,2]",
        {"fn_name": "f", "inputs": [[1], [2]], "outputs": [[1], [1, 2]]},
        {},
    ),
    "a vertical tab where a blank is due": ("print('2\\x0b3')", {"inputs": ["1"], "outputs": ["2 3"]}, {}),
    "a form feed where a blank is due": ("print('2\\x0c3')", {"inputs": ["1"], "outputs": ["2 3"]}, {}),
    "fewer items, and wrong ones": ("def f(x): return [9]", "for a, b in zip(f(3), [1, 2, 3]): assert a == b", {}),
    "fewer items, which are counted": (
        "def f(x): return [1]",
        "r = f(3)\nfor a, b in zip(r, [1, 2, 3]): assert a == b\nassert len(r) == 3",
        {},
    ),
    "an empty array, approx": (
        "import numpy as np\ndef f(x): return 2 if x == 1 else np.zeros((3, 0))",
        "import pytest\nfrom solution import f\nassert f(1) == 2\nassert f(2) == pytest.approx(3)",
        {},
    ),
    "an empty array in a list, approx": (
        "import numpy as np\ndef f(x): return [2] if x == [1] else [np.array([]), np.array([])]",
        "from pytest import approx\nfrom solution import f\nassert f([1]) == [2]\nassert approx([3, 4]) == f([2, 3])",
        {},
    ),
    "an empty array, array_equiv": (
        "import numpy as np\ndef f(x): return 2 if x == 1 else np.array([])",
        "import numpy as np\nfrom solution import f\nassert f(1) == 2\nassert np.array_equiv(f(2), [3])",
        {},
    ),
}
NO_VERDICT: dict[str, Program] = {
    "futures that are counted": (
        "def f(x): raise ValueError",
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(2) as p:\n    fs=[p.submit(f,i) for i in range(3)]\nassert len(fs)==3\nfor i,x in enumerate(fs):\n    if x.exception() is None: assert x.result()==i+1",
        {},
    ),
    "results of gather that are counted": (
        "async def f(x): raise ValueError",
        "import asyncio\nasync def main():\n    rs = await asyncio.gather(*(f(i) for i in range(3)), return_exceptions=True)\n    assert len(rs)==3\n    for i,r in enumerate(rs):\n        if not isinstance(r, Exception): assert r==i+1\nasyncio.run(main())",
        {},
    ),
    "futures that are done": (
        "def f(x): raise ValueError",
        "from concurrent.futures import ThreadPoolExecutor, wait\nwith ThreadPoolExecutor(2) as p:\n    fs=[p.submit(f,i) for i in range(3)]\ndone, pending = wait(fs)\nassert len(done)==3 and not pending\nassert all(x.done() for x in fs)\nfor i,x in enumerate(fs):\n    if x.exception() is None: assert x.result()==i+1",
        {},
    ),
    "the first item of three, by zip": ("def f(x): return [1]", "assert all(a==b for a,b in zip(f(3),[1,2,3]))", {}),
    "the first of three, in a loop": ("def f(x): return [1]", "for a,b in zip(f(3),[1,2,3]): assert a==b", {}),
    "the first of three, behind what is due": (
        "def f(x): return [1]",
        "for a,b in zip([1,2,3], f(3)): assert abs(a-b)<1e-6",
        {},
    ),
    "a generator that ends early": ("def f(x): yield 1", "for a,b in zip(f(3),[1,2,3]): assert a==b", {}),
    "the first of three, by map": (
        "def f(x): return [1]",
        "import operator\nassert all(map(operator.eq, f(3), [1,2,3]))",
        {},
    ),
    "a generator that ends early, by an index": (
        "def f(x): yield 1",
        "want=[1,2,3]\nfor i,v in enumerate(f(3)): assert v==want[i]",
        {},
    ),
    "the first of three, by enumerate": (
        "def f(x): return [1]",
        "want=[1,2,3]\nr=f(3)\nfor i,v in enumerate(r): assert v==want[i]",
        {},
    ),
    "the first of three, by the length of the result": (
        "def f(x): return [1]",
        "want=[1,2,3]\nr=f(3)\nfor i in range(len(r)): assert r[i]==want[i]",
        {},
    ),
    "one key of two, by items": (
        "def f(x): return {'b':1}",
        "want={'a':2,'b':1}\nfor k,v in f('aab').items(): assert want[k]==v",
        {},
    ),
    "what is due is a name of the code's": ("def f(x): return 7\nN=7", "assert f(1)==N", {}),
    "a table of the code's, by zip": (
        "EXPECTED=[7,7]\ndef f(x): return 7",
        "for x,e in zip([1,2],EXPECTED): assert f(x)==e",
        {},
    ),
    "an empty table of the code's": (
        "CASES={}\ndef f(x): return 7",
        "for k,v in CASES.items(): assert f(k)==v\nassert callable(f)",
        {},
    ),
    "a table of the code's": ("CASES={1:7}\ndef f(x): return 7", "for k,v in CASES.items(): assert f(k)==v", {}),
    "one key of two, by keys": (
        "def f(x): return {'b': 1}",
        "want = {'a': 2, 'b': 1}\nr = f('aab')\nfor k in r: assert want[k] == r[k]",
        {},
    ),
    "the first of three, by zip in unittest": (
        "def f(x): return [1]",
        "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        for a, b in zip(f(3), [1, 2, 3]): self.assertEqual(a, b)",
        {},
    ),
    "the first of three, in an array": (
        "import numpy as np\ndef f(x): return np.array([1])",
        "for a, b in zip(f(3), [1, 2, 3]): assert abs(a - b) < 1e-6",
        {},
    ),
}
HONEST: dict[str, Program] = {
    "a list that tests loop over": ("primes = [2, 3]", "assert [p for p in primes] == [2, 3]", {}),
    "a list beside what is due": ("PRIMES = [2, 3, 5]", "for a, b in zip(PRIMES, [2, 3, 5]): assert a == b", {}),
    "functions in a list": ("def f(x): return 2 * x\nOPS = [f]", "for op in OPS: assert op(2) == 4", {}),
    "a function that is a key": ("def f(x): return -x", "assert sorted([1, 2], key=f) == [2, 1]", {}),
    "a function that library functions are handed": (
        "def f(a, b): return a - b",
        "import functools\nassert sorted([2, 1], key=functools.cmp_to_key(f)) == [1, 2]",
        {},
    ),
    "all of three, by the length of the result": (
        "def f(x): return [1,2,3]",
        "want=[1,2,3]\nr=f(3)\nfor i in range(len(r)): assert r[i]==want[i]",
        {},
    ),
    "a table that is longer than any result": (
        "def f(n): return [2,3,5,7,11][:n]",
        "P=[2,3,5,7,11,13]\nfor n in (2,4): assert all(a==b for a,b in zip(f(n),P))",
        {},
    ),
    "a table that is longer than a result whose length is checked": (
        "def f(n): return [2,3,5,7,11][:n]",
        "P=[2,3,5,7,11,13]\nr=f(4)\nassert len(r)==4\nassert all(a==b for a,b in zip(r,P))",
        {},
    ),
    "differences, beside what they are of": (
        "def f(n): return [b-a for a,b in zip(n,n[1:])]",
        "xs=[1,4,9]\nfor i,(d,x) in enumerate(zip(f(xs),xs)): assert d==xs[i+1]-x\nfor i,d in enumerate(f(xs)): assert d>=xs[i]*0+1",
        {},
    ),
    "a generator without end, before what is due": (
        "def f():\n    i=0\n    while True:\n        yield i\n        i+=1",
        "for a,b in zip(f(),[0,1,2]): assert a==b",
        {},
    ),
    "a generator without end, behind what is due": (
        "def f():\n    i=0\n    while True:\n        yield i\n        i+=1",
        "for a,b in zip([0,1,2],f()): assert a==b",
        {},
    ),
    "all keys, by items": (
        "def f(s): return {c:s.count(c) for c in s}",
        "want={'a':2,'b':1}\nr=f('aab')\nfor k in want: assert r[k]==want[k]\nfor k,v in f('aab').items(): assert want[k]==v",
        {},
    ),
    "prices that are looked up": (
        "def f(s): return [c for c in s if c in 'ab']",
        "price={'a':2,'b':1,'z':9}\nt=0\nfor c in f('abq'): t+=price[c]\nassert t==3",
        {},
    ),
    "futures, of which errors are due": (
        "def f(x): raise ValueError",
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(2) as p:\n    fs = [p.submit(f, i) for i in range(3)]\nassert len(fs) == 3\nassert all(isinstance(x.exception(), ValueError) for x in fs)",
        {},
    ),
    "errors of gather that are counted": (
        "async def f(x): raise ValueError",
        "import asyncio\nasync def main():\n    rs = await asyncio.gather(*(f(i) for i in range(3)), return_exceptions=True)\n    bad = [r for r in rs if isinstance(r, Exception)]\n    assert len(bad) == 3\nasyncio.run(main())",
        {},
    ),
    "APPS, a number in a list and one that is in none": (
        "def g(x): return x + 1",
        {"inputs": [[1], [2]], "outputs": [[2], 3], "fn_name": "g"},
        {},
    ),
    "APPS, True in a list": (
        "def g(x): return x > 0",
        {"inputs": [[1], [-2]], "outputs": [[True], [False]], "fn_name": "g"},
        {},
    ),
    "a variable of the code's against a constant": (
        "LIMIT = 5\ndef f(x): return min(x, LIMIT)",
        "assert LIMIT == 5\nassert f(9) == LIMIT",
        {},
    ),
}
