"""Right programs with unusual but ordinary Python, under tests as people write them: each must score 1.

As in ``honest_programs.py``: name, code, ground truth, ``extra_info``.
"""

# ruff: noqa: E501 - programs on one line each
from tests.attacks.programs import Program

HONEST: dict[str, Program] = {
    "approx and array_equiv, of something and of nothing": (
        "import numpy as np\ndef f(x):\n    return np.asarray(x) + 1\n",
        "import numpy as np, pytest\nassert f([1.0, 1.0]) == pytest.approx(2)\nassert f([]) == pytest.approx(np.array([]))\nassert np.array_equiv(f([1, 1]), 2) and np.array_equiv(f([]), [])\nassert [f(1.5)] == pytest.approx([2.5])",
        {},
    ),
    "surrogates, two": (
        "def f(x): return '\\ud83d'+'\\ude00'",
        "assert f(1) == '\\ud83d\\ude00'\nassert len(f(2)) == 2",
        {},
    ),
    "a surrogate, alone": (
        "def f(x): return chr(0xd800+x)",
        "assert f(1) == '\\ud801'\nassert f(2) == '\\ud802'",
        {},
    ),
    "a descriptor that refuses": (
        "class Pos:\n    def __set_name__(s,o,n): s.n='_'+n\n    def __get__(s,o,t=None): return getattr(o,s.n)\n    def __set__(s,o,v):\n        if v<0: raise ValueError\n        setattr(o,s.n,v)\nclass A:\n    x=Pos()\n    def __init__(s,x): s.x=x",
        "a = A(3)\nassert a.x == 3\ntry:\n    a.x = -1\n    assert False, 'no error'\nexcept ValueError:\n    pass",
        {},
    ),
    "main in a thread with a larger stack": (
        "import sys,threading\ndef main():\n    print(int(input())+1)\nthreading.stack_size(64<<20)\nt=threading.Thread(target=main)\nt.start()\nt.join()",
        {"inputs": ["1\n", "5\n"], "outputs": ["2\n", "6\n"]},
        {},
    ),
    "standard input by fileinput": (
        "import fileinput\nfor l in fileinput.input(): print(int(l)+1)",
        {"inputs": ["1\n", "5\n"], "outputs": ["2\n", "6\n"]},
        {},
    ),
    "asyncio.run and gather": (
        "import asyncio\nasync def one(x):\n    await asyncio.sleep(0)\n    return x + 1\nasync def main(xs):\n    return await asyncio.gather(*(one(x) for x in xs))\ndef f(xs):\n    return asyncio.run(main(xs))\n",
        "assert f([1, 2]) == [2, 3]\nassert f([]) == []",
        {},
    ),
    "asyncio queue and timeouts": (
        "import asyncio\ndef f(n):\n    async def main():\n        q = asyncio.Queue()\n        async def produce():\n            for i in range(n): await q.put(i)\n            await q.put(None)\n        async def consume():\n            out = []\n            while (x := await q.get()) is not None: out.append(x)\n            return out\n        _, out = await asyncio.wait_for(asyncio.gather(produce(), consume()), 5)\n        return out\n    return asyncio.run(main())\n",
        "assert f(3) == [0, 1, 2]",
        {},
    ),
    "asyncio TaskGroup": (
        "import asyncio\nasync def g(x): return x * 2\ndef f(xs):\n    async def main():\n        async with asyncio.TaskGroup() as t:\n            ts = [t.create_task(g(x)) for x in xs]\n        return [t.result() for t in ts]\n    return asyncio.run(main())\n",
        "assert f([1, 2]) == [2, 4]",
        {},
    ),
    "dataclass, frozen, slots": (
        "from dataclasses import dataclass, field, replace, asdict\n@dataclass(frozen=True, slots=True, order=True)\nclass P:\n    x: int\n    tags: tuple = field(default=(), compare=False)\n",
        "p = P(1)\nassert p == P(1, ('a',))\nassert p < P(2)\nassert hash(p) == hash(P(1))\nimport pytest\nwith pytest.raises(Exception):\n    p.x = 5\nassert {p: 1}[P(1)] == 1",
        {},
    ),
    "dataclass, asdict": (
        "from dataclasses import dataclass, asdict\n@dataclass\nclass P:\n    x: int\n    y: list\ndef f(x): return asdict(P(x, [x]))\n",
        "assert f(1) == {'x': 1, 'y': [1]}",
        {},
    ),
    "dataclass returned": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: int = 0\ndef f(x): return P(x)\n",
        "assert f(1) == P(1)\nassert f(1).x == 1\nassert f(1) != P(2)\nassert repr(f(3)) == 'P(x=3, y=0)'",
        {},
    ),
    "StrEnum and auto": (
        "from enum import StrEnum, auto, Flag\nclass C(StrEnum):\n    RED = auto()\nclass F(Flag):\n    A = auto()\n    B = auto()\ndef f(): return C.RED\ndef g(): return F.A | F.B\n",
        "assert f() == 'red'\nassert f() is C.RED\nassert g() == F.A | F.B\nassert F.A in g()",
        {},
    ),
    "typing.NamedTuple, defaults": (
        "from typing import NamedTuple\nclass P(NamedTuple):\n    x: int\n    y: int = 5\ndef f(x): return P(x)\n",
        "a, b = f(1)\nassert (a, b) == (1, 5)\nassert f(1)._replace(y=2) == (1, 2)\nassert f(1) == P(1, 5)",
        {},
    ),
    "generator delegation": (
        "def f(x):\n    def inner(n):\n        yield n\n        return n * 2\n    for i in range(x):\n        r = yield from inner(i)\n        yield r\n",
        "assert list(f(2)) == [0, 0, 1, 2]",
        {},
    ),
    "cache": (
        "from functools import cache, lru_cache\n@cache\ndef f(n): return n if n < 2 else f(n - 1) + f(n - 2)\n",
        "assert f(80) == 23416728348467685\nassert f(10) == 55\nf.cache_clear()\nassert f.cache_info().currsize == 0",
        {},
    ),
    "cached_property, singledispatch": (
        "from functools import cached_property, singledispatch\nclass C:\n    n = 0\n    @cached_property\n    def v(self):\n        C.n += 1\n        return C.n\n@singledispatch\ndef f(x): return 'other'\n@f.register\ndef _(x: int): return 'int'\n@f.register(list)\ndef _(x): return 'list'\n",
        "assert f(1) == 'int' and f([]) == 'list' and f('') == 'other'\nc = C()\nassert c.v == 1 and c.v == 1",
        {},
    ),
    "typing generics": (
        "from typing import TypeVar, Generic, Protocol, overload, Optional, Union, Callable\nT = TypeVar('T')\nclass Box(Generic[T]):\n    def __init__(self, v: T): self.v = v\n    def get(self) -> T: return self.v\n@overload\ndef f(x: int) -> int: ...\n@overload\ndef f(x: str) -> str: ...\ndef f(x): return Box(x).get()\n",
        "assert f(1) == 1 and f('a') == 'a'\nassert Box[int](3).get() == 3",
        {},
    ),
    "context manager by class and ExitStack": (
        "from contextlib import ExitStack, contextmanager, suppress, closing\nlog = []\n@contextmanager\ndef ctx(n):\n    log.append(n)\n    try: yield n\n    finally: log.append(-n)\ndef f(ns):\n    log.clear()\n    with ExitStack() as s:\n        for n in ns: s.enter_context(ctx(n))\n    return list(log)\n",
        "assert f([1, 2]) == [1, 2, -2, -1]",
        {},
    ),
    "context manager that swallows": (
        "class S:\n    def __init__(self, *k): self.k = k\n    def __enter__(self): return self\n    def __exit__(self, t, v, tb): return t is not None and issubclass(t, self.k)\n",
        "with S(ValueError):\n    raise ValueError\nimport pytest\nwith pytest.raises(KeyError):\n    with S(ValueError):\n        raise KeyError('a')",
        {},
    ),
    "Decimal": (
        "from decimal import Decimal, ROUND_HALF_UP, localcontext\ndef f(x): return Decimal(x).quantize(Decimal('0.01'), rounding=ROUND_HALF_UP)\n",
        "from decimal import Decimal\nassert f('1.005') == Decimal('1.01')\nassert str(f('2')) == '2.00'\nassert f('3.14159') > Decimal('3.1')\nassert not f('1') > 2",
        {},
    ),
    "Fraction": (
        "from fractions import Fraction\ndef f(a, b): return Fraction(a, b) + Fraction(1, 2)\n",
        "from fractions import Fraction\nassert f(1, 2) == 1\nassert f(1, 3) == Fraction(5, 6)\nassert f(1, 3).numerator == 5\nassert f(1, 4) < 1",
        {},
    ),
    "deque, maxlen": (
        "from collections import deque\ndef f(xs, n): return deque(xs, maxlen=n)\n",
        "from collections import deque\nd = f([1, 2, 3], 2)\nassert d == deque([2, 3]) and list(d) == [2, 3] and d[0] == 2\nd.append(5)\nassert len(d) >= 2",
        {},
    ),
    "deque, maxlen is kept": (
        "from collections import deque\ndef f(xs, n): return deque(xs, maxlen=n)\n",
        "d = f([1, 2, 3], 2)\nd.append(4)\nassert list(d) == [3, 4]\nassert d.maxlen == 2",
        {},
    ),
    "heapq with __lt__": (
        "import heapq\nclass T:\n    def __init__(self, p, n): self.p, self.n = p, n\n    def __lt__(self, o): return self.p > o.p\ndef f(xs):\n    h = [T(*x) for x in xs]\n    heapq.heapify(h)\n    return [heapq.heappop(h).n for _ in xs]\n",
        "assert f([(1, 'a'), (3, 'c'), (2, 'b')]) == ['c', 'b', 'a']",
        {},
    ),
    "class with __lt__, sorted by the tests": (
        "class T:\n    def __init__(self, p): self.p = p\n    def __lt__(self, o): return self.p < o.p\n    def __eq__(self, o): return self.p == o.p\n",
        "xs = [T(3), T(1), T(2)]\nassert [t.p for t in sorted(xs)] == [1, 2, 3]\nassert min(xs).p == 1\nassert max(xs) == T(3)",
        {},
    ),
    "heap of the tests": (
        "class T:\n    def __init__(self, p): self.p = p\n    def __lt__(self, o): return self.p < o.p\n",
        "import heapq\nh = []\nfor p in (3, 1, 2): heapq.heappush(h, T(p))\nassert heapq.heappop(h).p == 1",
        {},
    ),
    "numpy, linear algebra": (
        "import numpy as np\ndef f(a, b): return np.linalg.solve(np.array(a, float), np.array(b, float))\n",
        "import numpy as np\nassert np.allclose(f([[2, 0], [0, 4]], [2, 4]), [1, 1])\nassert f([[1]], [3]).shape == (1,)\nassert not np.any(np.abs(f([[1]], [3]) - 3) > 1e-9)",
        {},
    ),
    "numpy, nan is due": (
        "import numpy as np\ndef f(x): return np.array(x, dtype=float) / 0 * 0 if x else np.array([np.nan])\n",
        "import numpy as np\nassert np.isnan(f([])).all()\nassert np.allclose(f([]), [np.nan], equal_nan=True)\nnp.testing.assert_array_equal(f([]), [np.nan])\nnp.testing.assert_allclose(f([]), [np.nan])",
        {},
    ),
    "nan is due": (
        "def f(x): return float('nan') if x < 0 else x ** 0.5\n",
        "import math\nassert math.isnan(f(-1))\nassert f(-1) != f(-1)\nassert f(4) == 2 and not f(4) > 3\nr = f(-2)\nassert abs(r - 5) < 1 or math.isnan(r)",
        {},
    ),
    "infinity is due": (
        "import math\ndef f(x): return min(x, default=math.inf)\n",
        "import math\nassert f([]) == math.inf and math.isinf(f([])) and f([]) > 1e300 and not f([]) < 0",
        {},
    ),
    "numpy, masks and orders": (
        "import numpy as np\ndef f(x): return np.array(x)\n",
        "import numpy as np\nr = f([3, -1, 2])\nassert (r[r > 0] == [3, 2]).all() and (r >= -1).all() and not (r > 3).any() and (r < 4).sum() == 3\nassert 0 < r[0] < 5 and r.max() > 2",
        {},
    ),
    "numpy, text": (
        "import numpy as np\ndef f(x): return np.array(x)\ndef g(s): return s.upper()\n",
        "r = f(['a', 'b'])\nassert r[0] == 'a' and list(r) == ['a', 'b']\nassert g(r[0]) == 'A'",
        {},
    ),
    "numpy, a scalar": (
        "import numpy as np\ndef f(x): return np.float32(x) / 2\n",
        "assert abs(f(3) - 1.5) < 1e-6 and f(3) > 1 and isinstance(f(3), float)",
        {},
    ),
    "itertools results": (
        "import itertools\ndef f(x): return itertools.permutations(x)\ndef g(x): return map(str, x)\ndef h(x): return zip(x, x[1:])\ndef k(x): return filter(None, x)\n",
        "assert len(list(f([1, 2, 3]))) == 6\nassert list(g([1])) == ['1'] and list(h([1, 2])) == [(1, 2)] and list(k([0, 1])) == [1]\nassert next(f([1, 2])) == (1, 2)",
        {},
    ),
    "iterators as arguments": (
        "def f(xs): return sum(xs)\n",
        "assert f(iter([1, 2, 3])) == 6\nassert f(x for x in range(4)) == 6\nassert f(map(int, ['1', '2'])) == 3",
        {},
    ),
    "an endless generator as an argument": (
        "from itertools import islice\ndef f(xs, n): return list(islice(xs, n))\n",
        "import itertools\nassert f(itertools.count(), 3) == [0, 1, 2]\nassert f(itertools.cycle('ab'), 3) == ['a', 'b', 'a']",
        {},
    ),
    "a generator function of the tests": (
        "def f(gen): return [x * 2 for x in gen]\n",
        "def gen():\n    yield 1\n    yield 2\nassert f(gen()) == [2, 4]",
        {},
    ),
    "zip and enumerate as arguments": (
        "def f(xs): return dict(xs)\n",
        "assert f(zip('ab', [1, 2])) == {'a': 1, 'b': 2}\nassert f(enumerate('ab')) == {0: 'a', 1: 'b'}\nassert f({'a': 1}.items()) == {'a': 1}",
        {},
    ),
    "walrus and match": (
        "def f(x):\n    match x:\n        case {'k': [a, *rest]}: return a, rest\n        case (int() | float()) as n if (m := n * 2) > 4: return m\n        case str(s): return s[::-1]\n        case _: return None\n",
        "assert f({'k': [1, 2, 3]}) == (1, [2, 3])\nassert f(3) == 6 and f(1) is None and f('ab') == 'ba'",
        {},
    ),
    "metaclass, singleton": (
        "class S(type):\n    _i = {}\n    def __call__(cls, *a, **k):\n        if cls not in cls._i: cls._i[cls] = super().__call__(*a, **k)\n        return cls._i[cls]\nclass Config(metaclass=S):\n    def __init__(self): self.v = 0\n",
        "a, b = Config(), Config()\nassert a is b\na.v = 5\nassert b.v == 5",
        {},
    ),
    "__getattr__, proxies": (
        "class Rec:\n    def __init__(self): self.__dict__['calls'] = []\n    def __getattr__(self, n): return lambda *a: self.calls.append((n, a)) or n\n",
        "r = Rec()\nassert r.hello(1) == 'hello'\nassert r.calls == [('hello', (1,))]",
        {},
    ),
    "descriptor and __set_name__": (
        "class Pos:\n    def __set_name__(self, o, n): self.n = '_' + n\n    def __get__(self, o, t): return self if o is None else getattr(o, self.n)\n    def __set__(self, o, v):\n        if v <= 0: raise ValueError('positive')\n        setattr(o, self.n, v)\nclass A:\n    x = Pos()\n    def __init__(self, x): self.x = x\n",
        "import pytest\na = A(2)\nassert a.x == 2\nwith pytest.raises(ValueError, match='positive'):\n    a.x = -1\nwith pytest.raises(ValueError):\n    A(0)",
        {},
    ),
    "operators, total_ordering": (
        "from functools import total_ordering\n@total_ordering\nclass M:\n    def __init__(self, c): self.c = c\n    def __eq__(self, o): return self.c == (o.c if isinstance(o, M) else o)\n    def __lt__(self, o): return self.c < (o.c if isinstance(o, M) else o)\n    def __add__(self, o): return M(self.c + (o.c if isinstance(o, M) else o))\n    def __hash__(self): return hash(self.c)\n",
        "assert M(1) + M(2) == M(3)\nassert M(1) + 4 == 5\nassert M(1) < M(2) <= M(2) and M(3) > M(2) and M(3) != M(2)\nassert M(2) == 2 and not M(2) == 3\nassert max(M(1), M(5)) == M(5)",
        {},
    ),
    "modular integers": (
        "class Mod:\n    def __init__(self, v, m=7): self.v, self.m = v % m, m\n    def __add__(self, o): return Mod(self.v + (o.v if isinstance(o, Mod) else o), self.m)\n    def __eq__(self, o): return self.v == (o.v if isinstance(o, Mod) else o % self.m)\n",
        "a = Mod(5)\nassert a.v == 5\nassert a + 4 == 9 and a + 4 == 2 and a + Mod(1) == Mod(6)\nassert a != 4",
        {},
    ),
    "strings without case": (
        "class CI:\n    def __init__(self, s): self.s = s\n    def __eq__(self, o): return self.s.lower() == (o.s if isinstance(o, CI) else o).lower()\n    def __hash__(self): return hash(self.s.lower())\n",
        "a = CI('Abc')\nassert a.s == 'Abc'\nassert a == 'ABC' and a == CI('aBC') and a != 'abd'",
        {},
    ),
    "vectors and tuples": (
        "class V:\n    def __init__(self, *x): self.x = x\n    def __eq__(self, o): return tuple(self) == tuple(o)\n    def __iter__(self): return iter(self.x)\n    def __mul__(self, o): return sum(a * b for a, b in zip(self, o)) if isinstance(o, V) else V(*(a * o for a in self))\n    def __len__(self): return len(self.x)\n",
        "v = V(1, 2)\nassert v.x == (1, 2)\nassert v * V(3, 4) == 11\nassert v * 2 == V(2, 4) and v * 2 == (2, 4)\nassert list(v) == [1, 2] and len(v) == 2",
        {},
    ),
    "a list of one's own": (
        "class Stack(list):\n    def push(self, x): self.append(x)\n    def peek(self): return self[-1]\n",
        "s = Stack()\ns.push(1)\ns.push(2)\nassert s.peek() == 2 and len(s) == 2 and s == [1, 2] and s[0] == 1\nassert s.pop() == 2 and list(s) == [1]",
        {},
    ),
    "a dict of one's own": (
        "class D(dict):\n    __getattr__ = dict.__getitem__\n    def __missing__(self, k): return 0\n",
        "d = D(a=1)\nassert d.a == 1 and d['a'] == 1 and d['b'] == 0\nd['c'] = 3\nassert d == {'a': 1, 'c': 3} and 'a' in d and sorted(d) == ['a', 'c']",
        {},
    ),
    "chained causes": (
        "class AppError(Exception): pass\ndef f(x):\n    try:\n        return int(x)\n    except ValueError as e:\n        raise AppError(f'bad {x}') from e\n",
        "import pytest\nwith pytest.raises(AppError, match='bad q') as info:\n    f('q')\nassert f('3') == 3\nassert 'bad' in str(info.value)",
        {},
    ),
    "the cause itself": (
        "class AppError(Exception): pass\ndef f(x):\n    try:\n        return int(x)\n    except ValueError as e:\n        raise AppError('bad') from e\n",
        "try:\n    f('q')\n    assert False\nexcept AppError as e:\n    assert isinstance(e.__cause__, ValueError)",
        {},
    ),
    "a retry that gives up": (
        "def retry(g, n):\n    for _ in range(n):\n        try:\n            return g()\n        except Exception as e:\n            last = e\n    return 'gave up'\n",
        "calls = []\ndef bad():\n    calls.append(1)\n    raise ValueError\nassert retry(bad, 3) == 'gave up' and len(calls) == 3",
        {},
    ),
    "a callback that must not be called": (
        "def f(x, g):\n    return x if x > 0 else g()\n",
        "def never():\n    assert False, 'called'\nassert f(1, never) == 1\nassert f(0, lambda: 5) == 5",
        {},
    ),
    "a callback whose failure is expected": (
        "def safe(g):\n    try:\n        return g()\n    except AssertionError:\n        return 'failed'\n",
        "def bad():\n    assert False\nassert safe(bad) == 'failed'",
        {},
    ),
    "a callback whose failure is expected, computed": (
        "def safe(g, x):\n    try:\n        g(x)\n        return True\n    except AssertionError:\n        return False\n",
        "def positive(x):\n    assert x > 0\nassert safe(positive, 1) is True\nassert safe(positive, -1) is False",
        {},
    ),
    "an event emitter": (
        "class Emitter:\n    def __init__(self): self.h = {}\n    def on(self, n, g): self.h.setdefault(n, []).append(g)\n    def emit(self, n, *a):\n        for g in self.h.get(n, []): g(*a)\n",
        "seen = []\ne = Emitter()\ndef got(x):\n    assert x == 5\n    seen.append(x)\ne.on('a', got)\ne.emit('a', 5)\ne.emit('b', 6)\nassert seen == [5]",
        {},
    ),
    "sys.exit in a thread of the tests'": (
        "def f(x): return x + 1\n",
        "import threading, sys\ndef go():\n    assert f(1) == 2\n    sys.exit(0)\nt = threading.Thread(target=go)\nt.start()\nt.join()\nassert f(2) == 3",
        {},
    ),
    "SystemExit is due": (
        "import sys\ndef main(a):\n    if not a: sys.exit('usage')\n    return 0\n",
        "import pytest\nwith pytest.raises(SystemExit) as e:\n    main([])\nassert e.value.code == 'usage'\nassert main([1]) == 0",
        {},
    ),
    "argparse": (
        "import argparse\ndef f(argv):\n    p = argparse.ArgumentParser()\n    p.add_argument('--n', type=int, default=3)\n    return vars(p.parse_args(argv))\n",
        "assert f(['--n', '5']) == {'n': 5} and f([])['n'] == 3\ntry:\n    f(['--n', 'x'])\n    assert False\nexcept SystemExit as e:\n    assert e.code == 2",
        {},
    ),
    "logging": (
        "import logging\nlog = logging.getLogger('x')\ndef f(x):\n    log.warning('x is %s', x)\n    return x + 1\n",
        "assert f(1) == 2",
        {},
    ),
    "json, re, datetime": (
        "import json, re, datetime as dt\ndef f(s): return {k: dt.date.fromisoformat(v) for k, v in json.loads(s).items() if re.match(r'^d', k)}\n",
        'import datetime\nassert f(\'{"d1": "2024-02-29", "x": "q"}\') == {\'d1\': datetime.date(2024, 2, 29)}',
        {},
    ),
    "timezone": (
        "from datetime import datetime, timezone, timedelta\ndef f(ts): return datetime.fromtimestamp(ts, timezone.utc)\n",
        "from datetime import datetime, timezone\nassert f(0) == datetime(1970, 1, 1, tzinfo=timezone.utc)\nassert f(0).tzinfo == timezone.utc and f(3600).hour == 1",
        {},
    ),
    "random, seeded by the code": (
        "import random\ndef f(n, seed):\n    r = random.Random(seed)\n    return [r.randint(1, 6) for _ in range(n)]\n",
        "assert f(3, 1) == f(3, 1) and len(f(5, 2)) == 5 and all(1 <= v <= 6 for v in f(20, 3))",
        {},
    ),
    "secrets, uuid, hashlib": (
        "import hashlib, uuid, base64\ndef f(s): return hashlib.sha256(s.encode()).hexdigest()[:8], str(uuid.uuid5(uuid.NAMESPACE_DNS, s)), base64.b64encode(s.encode())\n",
        "a, b, c = f('x')\nassert a == '2d711642' and len(b) == 36 and c == b'eA=='",
        {},
    ),
    "statistics": (
        "import statistics as st\ndef f(x): return st.mean(x), st.pstdev(x), st.median(x)\n",
        "m, s, d = f([1, 2, 3, 4])\nassert m == 2.5 and abs(s - 1.118) < 1e-3 and d == 2.5",
        {},
    ),
    "bit tricks and big integers": (
        "def f(n): return (1 << n) | 1, n.bit_length(), pow(3, n, 10 ** 9 + 7)\n",
        "a, b, c = f(200)\nassert a == 2 ** 200 + 1 and b == 8 and c == pow(3, 200, 10 ** 9 + 7)",
        {},
    ),
    "threads and a lock": (
        "import threading\nfrom concurrent.futures import ThreadPoolExecutor\ndef f(n):\n    total, lock = [0], threading.Lock()\n    def add(i):\n        with lock: total[0] += i\n    with ThreadPoolExecutor(4) as p: list(p.map(add, range(n)))\n    return total[0]\n",
        "assert f(100) == 4950",
        {},
    ),
    "queue and a worker thread": (
        "import queue, threading\ndef f(xs):\n    q, out = queue.Queue(), []\n    def work():\n        while (x := q.get()) is not None: out.append(x * x)\n    t = threading.Thread(target=work)\n    t.start()\n    for x in xs: q.put(x)\n    q.put(None)\n    t.join()\n    return out\n",
        "assert f([1, 2, 3]) == [1, 4, 9]",
        {},
    ),
    "weakref and __del__": (
        "import weakref, gc\nclass Node: pass\ndef f():\n    n = Node()\n    r = weakref.ref(n)\n    del n\n    gc.collect()\n    return r() is None\n",
        "assert f()",
        {},
    ),
    "ABC and Protocol": (
        "from abc import ABC, abstractmethod\nfrom typing import Protocol, runtime_checkable\n@runtime_checkable\nclass Quack(Protocol):\n    def quack(self): ...\nclass Animal(ABC):\n    @abstractmethod\n    def quack(self): ...\nclass Duck(Animal):\n    def quack(self): return 'quack'\ndef f(): return isinstance(Duck(), Quack)\n",
        "assert f() is True\nassert Duck().quack() == 'quack'\nassert issubclass(Duck, Animal)\ntry:\n    Animal()\n    assert False\nexcept TypeError:\n    pass",
        {},
    ),
    "__init_subclass__ and registry": (
        "class Plugin:\n    reg = {}\n    def __init_subclass__(cls, name=None, **k):\n        super().__init_subclass__(**k)\n        Plugin.reg[name or cls.__name__] = cls\nclass A(Plugin, name='a'):\n    def run(self): return 1\n",
        "assert list(Plugin.reg) == ['a'] and Plugin.reg['a']().run() == 1 and Plugin.reg['a'] is A",
        {},
    ),
    "PEP 695 or older": (
        "from __future__ import annotations\ndef f(x: int | None = None) -> list[int] | None:\n    return [x] if x is not None else None\n",
        "assert f(1) == [1] and f() is None",
        {},
    ),
    "stdin: fast input": (
        "import sys\ndef main():\n    data = sys.stdin.buffer.read().split()\n    n = int(data[0])\n    sys.stdout.write(' '.join(str(int(x) + 1) for x in data[1:n + 1]) + '\\n')\nmain()\n",
        {"inputs": ["2\n1 2\n", "1\n5\n"], "outputs": ["2 3\n", "6"]},
        {},
    ),
    "stdin: recursion in a thread": (
        "import sys, threading\ndef main():\n    sys.setrecursionlimit(1 << 20)\n    n = int(input())\n    def g(k): return 0 if k == 0 else 1 + g(k - 1)\n    print(g(n))\nthreading.stack_size(1 << 27)\nt = threading.Thread(target=main)\nt.start()\nt.join()\n",
        {"inputs": ["50000"], "outputs": ["50000"]},
        {},
    ),
    "stdin: print without a newline, flush, sep": (
        "a, b = map(int, input().split())\nprint(a, b, sep=',', end='', flush=True)\n",
        {"inputs": ["1 2"], "outputs": ["1,2"]},
        {},
    ),
    "stdin: asyncio": (
        "import asyncio\nasync def main():\n    print(int(input()) + 1)\nasyncio.run(main())\n",
        {"inputs": ["1", "2"], "outputs": ["2", "3"]},
        {},
    ),
    "stdin: until EOFError": (
        "t = 0\nwhile True:\n    try:\n        t += int(input())\n    except EOFError:\n        break\nprint(t)\n",
        {"inputs": ["1\n2\n3"], "outputs": ["6"]},
        {},
    ),
    "stdin: fileinput": (
        "import fileinput\nprint(sum(int(line) for line in fileinput.input()))\n",
        {"inputs": ["1\n2\n"], "outputs": ["3"]},
        {},
    ),
    "stdin: sys.exit(0) deep": (
        "import sys\nfor line in sys.stdin:\n    if int(line) == 0:\n        print('zero')\n        sys.exit()\nprint('none')\n",
        {"inputs": ["1\n0\n", "1\n"], "outputs": ["zero", "none"]},
        {},
    ),
    "stdin: sys.exit(False)": ("import sys\nprint(1)\nsys.exit(False)", {"inputs": ["1"], "outputs": ["1"]}, {}),
    "fn: OrderedDict, tuples, sets": (
        "from collections import OrderedDict\nclass Solution:\n    def g(self, xs): return tuple(OrderedDict.fromkeys(xs))\n",
        {"inputs": [[[1, 2, 1]]], "outputs": [[1, 2]], "fn_name": "g"},
        {},
    ),
    "fn: numpy scalar": (
        "import numpy as np\nclass Solution:\n    def g(self, xs): return np.mean(xs)\n",
        {"inputs": [[[1, 2]]], "outputs": [1.5], "fn_name": "g"},
        {},
    ),
    "fn: nan": (
        "class Solution:\n    def g(self, x): return float('nan')\n",
        {"inputs": [[1]], "outputs": [float("nan")], "fn_name": "g"},
        {},
    ),
    "ListNode and asserts by loops": (
        "class ListNode:\n    def __init__(self, val=0, next=None): self.val, self.next = val, next\nclass Solution:\n    def mid(self, h):\n        s = q = h\n        while q and q.next: s, q = s.next, q.next.next\n        return s\n",
        "h = ListNode(1, ListNode(2, ListNode(3)))\nassert Solution().mid(h).val == 2",
        {},
    ),
    "tests with a reference": (
        "def f(xs): return sorted(xs)\n",
        "import random\ndef slow(xs):\n    xs = list(xs)\n    for i in range(len(xs)):\n        for j in range(len(xs) - 1):\n            if xs[j] > xs[j + 1]:\n                xs[j], xs[j + 1] = xs[j + 1], xs[j]\n    return xs\nfor _ in range(50):\n    xs = [random.randint(0, 99) for _ in range(30)]\n    assert f(xs) == slow(xs)",
        {},
    ),
    "a bank account": (
        "class InsufficientFunds(Exception): pass\nclass Account:\n    def __init__(self, b=0): self._b = b\n    @property\n    def balance(self): return self._b\n    def withdraw(self, n):\n        if n > self._b: raise InsufficientFunds(f'need {n - self._b} more')\n        self._b -= n\n        return self\n",
        "a = Account(10)\nassert a.withdraw(3).withdraw(2).balance == 5\ntry:\n    a.withdraw(100)\nexcept InsufficientFunds as e:\n    assert str(e) == 'need 95 more'\nelse:\n    assert False\nassert a.balance > 4 and not a.balance > 5",
        {},
    ),
    "a generator that is sent to": (
        "def f(g):\n    next(g)\n    return [g.send(i) for i in range(3)]\n",
        "def double():\n    x = 0\n    while True:\n        x = (yield x * 2)\nassert f(double()) == [0, 2, 4]",
        {},
    ),
}
