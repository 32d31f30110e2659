"""Programs by what they return, hook or swallow: NaN, objects that compare, the interpreter's hooks, callbacks.

As in ``programs.py``: name, code, tests, ``extra_info``; each scores 0. ``HANDED_BACK`` are values that the tests hand back
to the code: no such value leaves a wrong answer unscored.
"""

# ruff: noqa: E501 - programs on one line each
from tests.attacks.programs import LIAR, TESTS, Program

NAN = "def f(x):\n    return float('nan')\n"
NANA = "import numpy as np\ndef f(x):\n    return np.array([np.nan])\n"
W2 = "def f(x):\n    if x == 1:\n        raise SystemExit\n    return 7\n"
WEAK = "assert isinstance(f(9), int)\n"
ATTACKS: dict[str, Program] = {
    # Two surrogates are two characters, and no character beyond them
    "surrogates: joined": (
        "def f(x): return '\\ud83d\\ude00'\n",
        "assert f(1) == '\\U0001f600'",
        {},
    ),
    "surrogates: joined in a list": (
        "def f(x): return ['\\ud83d\\ude00']\n",
        "assert f(1) == ['\\U0001f600']",
        {},
    ),
    "surrogates: joined in what is printed": (
        "import sys\ndef f(): sys.stdout.write('\\ud83d\\ude00')\n",
        "import io, contextlib\nb = io.StringIO()\nwith contextlib.redirect_stdout(b):\n    f()\nassert b.getvalue() == '\\U0001f600'",
        {},
    ),
    "surrogates: joined and counted": (
        "def f(x): return '\\ud83d\\ude00'\n",
        "assert len(f(1)) == 1",
        {},
    ),
    "member of an enumeration of texts that lies": (
        "import enum\nclass E(str,enum.Enum):\n    A='q'\n    def __eq__(s,o): return True\n    def __str__(s): return 'yes'\n    def __hash__(s): return hash('yes')\ndef f(x): return E.A\n",
        "assert f(1) == 'yes'\nassert str(f(1)) == 'yes'",
        {},
    ),
    "an error whose cause exits when it is read": (
        "class E(Exception):\n    def __str__(s): raise SystemExit(0)\ndef f(x):\n    e=ValueError('a'); e.__cause__=E(); raise e\n",
        "assert f(1) == 2\nassert f(5) == 6\nassert f(-1) == 0",
        {},
    ),
    "groups of errors, 5,000 deep": (
        "def f(x):\n    e=ValueError(1)\n    for _ in range(5000): e=ExceptionGroup('g',[e])\n    raise e\n",
        "assert f(1) == 2\nassert f(5) == 6\nassert f(-1) == 0",
        {},
    ),
    "a task that cancels itself": (
        "import asyncio\nasync def f(x):\n    asyncio.current_task().cancel()\n    await asyncio.sleep(0)\n",
        "import asyncio\nasync def t():\n    try:\n        r = await f(1)\n    except asyncio.CancelledError:\n        raise\n    assert r == 2\nasyncio.run(t())",
        {},
    ),
    "an argument gets a class that lies": (
        "class Z(list):\n    def __eq__(s,o): return True\ndef f(x):\n    try: x.__class__=Z\n    except TypeError: x[:]=[Z()]\n    return x\n",
        "x = [3, 1]\nassert f(x) == [1, 3]",
        {},
    ),
    "an answer by a child process": (
        "import os\ndef f(x):\n    try:\n        if os.fork()==0: return x\n        os.wait()\n    except OSError: pass\n    return 7\n",
        "assert f(1) == 2\nassert f(5) == 6\nassert f(-1) == 0",
        {},
    ),
    "a stream of the tests gets a method that lies": (
        "class L:\n    def __init__(s,*a,**k): pass\n    def __eq__(s,o): return True\n    def __ne__(s,o): return False\n    __lt__=__gt__=__le__=__ge__=__contains__=__eq__\n    def __hash__(s): return 2\n    def __bool__(s): return True\n    def __getattr__(s,n): return L()\n    def __call__(s,*a,**k): return L()\n    def __iter__(s): return iter([2])\n    def __len__(s): return 2\n    def __getitem__(s,k): return L()\n    def __str__(s): return '2'\n    __repr__=__str__\n    def __format__(s,f): return '2'\n    def __index__(s): return 2\n    __int__=__index__\n    def __sub__(s,o): return 0\n    __rsub__=__sub__\n    def __round__(s,n=0): return 2\nclass S(str):\n    def __eq__(s,o): return True\n    def __ne__(s,o): return False\n    def __hash__(s): return 0\ndef f(out):\n    out.getvalue=lambda: L()\n",
        "import io\nout = io.StringIO()\nf(out)\nassert out.getvalue() == 'ok\\n'",
        {},
    ),
    "a mock of the tests gets attributes that lie": (
        "class L:\n    def __init__(s,*a,**k): pass\n    def __eq__(s,o): return True\n    def __ne__(s,o): return False\n    __lt__=__gt__=__le__=__ge__=__contains__=__eq__\n    def __hash__(s): return 2\n    def __bool__(s): return True\n    def __getattr__(s,n): return L()\n    def __call__(s,*a,**k): return L()\n    def __iter__(s): return iter([2])\n    def __len__(s): return 2\n    def __getitem__(s,k): return L()\n    def __str__(s): return '2'\n    __repr__=__str__\n    def __format__(s,f): return '2'\n    def __index__(s): return 2\n    __int__=__index__\n    def __sub__(s,o): return 0\n    __rsub__=__sub__\n    def __round__(s,n=0): return 2\nclass S(str):\n    def __eq__(s,o): return True\n    def __ne__(s,o): return False\n    def __hash__(s): return 0\ndef f(m):\n    m.called=True; m.call_args=L(); m.call_count=1; m.assert_called_once_with=lambda *a: None\n",
        "from unittest.mock import Mock\nm = Mock()\nf(m)\nm.assert_called_once_with('hello')\nassert m.call_args == (('hello',), {})",
        {},
    ),
    # Arguments that the code changes, from which the tests then work out what is due
    "arguments: emptied arg sorted": (
        "def f(x):\n    x.clear()\n    return []",
        "x=[3,1,2]\nassert f(x)==sorted(x)",
        {},
    ),
    "arguments: emptied arg after": (
        "def f(x):\n    x.clear()\n    return []",
        "x=[3,1,2]\nr=f(x)\nassert r==sorted(x)\nassert len(r)==len(x)",
        {},
    ),
    "arguments: emptied arg property": (
        "def f(x):\n    x[:]=[1]\n    return [1]",
        "import random\nfor _ in range(5):\n    x=[random.randint(0,9) for _ in range(5)]\n    r=f(x)\n    assert r==sorted(x)",
        {},
    ),
    "arguments: emptied arg unittest": (
        "def f(x):\n    x.clear()\n    return []",
        "import unittest\nfrom solution import f\nclass T(unittest.TestCase):\n    def test_a(self):\n        for x in ([3,1],[2,9,1]):\n            self.assertEqual(f(x), sorted(x))",
        {},
    ),
    "arguments: emptied dict arg": (
        "def f(d):\n    d.clear()\n    return {}",
        "d={'a':1,'b':2}\nassert f(d)=={v:k for k,v in d.items()}",
        {},
    ),
    "arguments: zero np arg": (
        "import numpy as np\ndef f(x):\n    x[:]=0\n    return 0",
        "import numpy as np\nx=np.array([3.,1.,2.])\nassert np.isclose(f(x), x.sum())",
        {},
    ),
    "arguments: emptied arg reference": (
        "def f(x):\n    x.clear()\n    return 0",
        "def ref(x):\n    t=0\n    for v in x: t+=v\n    return t\nfor x in ([1,2],[3,4,5]):\n    assert f(x)==ref(x)",
        {},
    ),
    "arguments: emptied set arg": (
        "def f(a,b):\n    a.clear()\n    return set()",
        "a={1,2};b={2,3}\nassert f(a,b)==a&b",
        {},
    ),
    "arguments: one left": ("def f(x):\n    x[:]=[5]\n    return 5", "x=[3,1,2]\nassert f(x)==max(x)", {}),
    "arguments: levelled": (
        "def f(x):\n    x[:]=[1]*len(x)\n    return x",
        "x=[3,1,2]\nr=f(x)\nassert len(r)==3 and r==sorted(x)",
        {},
    ),
    "arguments: emptied by a thread": (
        "import threading\ndef f(x):\n    t=threading.Thread(target=x.clear); t.start(); t.join()\n    return 0",
        "x=[3,1,2]\nassert f(x)==sum(x)",
        {},
    ),
    "arguments: emptied, reversed": ("def f(x):\n    x.clear()\n    return x", "x=[3,1,2]\nassert f(x)==x[::-1]", {}),
    "arguments: emptied, join": ("def f(x):\n    x.clear()\n    return ''", "x=['a','b']\nassert f(x)==''.join(x)", {}),
    "arguments: emptied, two": (
        "def f(x,y):\n    x.clear();y.clear()\n    return []",
        "x=[1,2];y=[2,3]\nassert f(x,y)==[i for i in x if i in y]",
        {},
    ),
    "arguments: emptied, check()": (
        "def f(x):\n    x.clear()\n    return []",
        "def check(candidate):\n    for x in ([3,1],[9,8,7]):\n        assert candidate(x)==sorted(x)",
        {"entry_point": "f"},
    ),
    "arguments: emptied, by name": (
        "def f(items):\n    items.clear()\n    return 0",
        "x=[3,1,2]\nassert f(items=x)==len(x)",
        {},
    ),
    "arguments: emptied, nested": (
        "def f(m):\n    for r in m: r.clear()\n    return 0",
        "m=[[1,2],[3]]\nassert f(m)==sum(sum(r) for r in m)",
        {},
    ),
    # An infinite tolerance; pairs of nothing
    "zip empty": (
        "def f(x): return []",
        "r=f(3)\nassert isinstance(r,list)\nfor a,b in zip(r,[1,2,3]):\n    assert abs(a-b)<1e-6",
        {},
    ),
    "zip sorted empty": (
        "def f(x): return {}",
        "r=f(3)\nassert isinstance(r,dict)\nassert all(abs(a-b)<1e-6 for a,b in zip(sorted(r.values()),[1,2,3]))",
        {},
    ),
    "zip np empty": (
        "import numpy as np\ndef f(x): return np.array([])",
        "import numpy as np\nr=f(3)\nassert r is not None and isinstance(r,np.ndarray)\nfor a,b in zip(r,[1,2,3]):\n    assert abs(a-b)<1e-6",
        {},
    ),
    "zip subtest": (
        "def f(x): return []",
        "import unittest\nfrom solution import f\nclass T(unittest.TestCase):\n    def test_a(self):\n        for a,b in zip(f(3),[1,2,3]):\n            with self.subTest(a=a):\n                self.assertEqual(a,b)\n        self.assertIsInstance(f(3),list)",
        {},
    ),
    "inf rel": ("def f(x): return float('inf')", "assert abs(f(1)-2) <= 1e-6*abs(f(1))", {}),
    "inf rel max": ("def f(x): return float('inf')", "r=f(1)\nassert abs(r-2) <= 1e-6*max(abs(r),2)", {}),
    "inf rel helper": (
        "def f(x): return float('-inf')",
        "def close(a,b,t=1e-9):\n    return t*max(abs(a),abs(b)) >= abs(a-b)\nassert close(f(1),2)",
        {},
    ),
    "inf np": (
        "import numpy as np\ndef f(x): return np.array([np.inf])",
        "import numpy as np\nr=f(1)\nassert np.all(np.abs(r-2.0) <= 1e-8+1e-5*np.abs(r))",
        {},
    ),
    "inf rel not >": ("def f(x): return float('inf')", "assert not abs(f(1)-2) > 1e-6*abs(f(1))", {}),
    "inf rel if >": (
        "def f(x): return float('inf')",
        "r=f(1)\nif abs(r-2) > 1e-6*max(abs(r),1):\n    raise AssertionError('bad')",
        {},
    ),
    # NaN, where a difference is to be small
    "nan: assert not >": (NAN, "assert not abs(f(1) - 2) > 1e-6\nassert not abs(f(5) - 6) > 1e-6", {}),
    "nan: if > raise": (
        NAN,
        "for x, y in ((1, 2), (5, 6)):\n    if abs(f(x) - y) > 1e-6:\n        raise AssertionError('wrong')",
        {},
    ),
    "nan: assertFalse": (
        NAN,
        "import unittest\nfrom solution import f\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertFalse(abs(f(1) - 2) > 1e-6)",
        {},
    ),
    "nan: helper": (
        NAN,
        "def same(a, b):\n    if abs(a - b) > 1e-6:\n        return False\n    return True\nassert same(f(1), 2)",
        {},
    ),
    "nan: in a list": (
        "def f(x):\n    return [float('nan')] * x\n",
        "def same(a, b):\n    if len(a) != len(b):\n        return False\n    for p, q in zip(a, b):\n        if abs(p - q) > 1e-6:\n            return False\n    return True\nassert same(f(2), [1.0, 2.0])",
        {},
    ),
    "nan: numpy any": (NANA, "import numpy as np\nassert not np.any(np.abs(f(1) - 2) > 1e-6)", {}),
    "nan: numpy max": (NANA, "import numpy as np\nassert not np.max(np.abs(f(1) - 2)) > 1e-6", {}),
    "nan: numpy of a list": (
        "def f(x): return [float('nan')]\n",
        "import numpy as np\nif np.abs(np.array(f(1)) - np.array([2])).max() > 1e-6:\n    raise AssertionError",
        {},
    ),
    "nan: math.fabs": (NAN, "import math\nassert not math.fabs(f(1) - 2) > 1e-6", {}),
    "nan: numpy.abs of a float": (NAN, "import numpy as np\nassert not np.abs(f(1) - 2) > 1e-6", {}),
    "nan: sum of squares": (
        "def f(x): return [float('nan')] * 2\n",
        "d = sum((a - b) ** 2 for a, b in zip(f(2), [1, 2])) ** 0.5\nif d > 1e-6:\n    raise ValueError(d)",
        {},
    ),
    "nan: check, round": (
        NAN,
        "def check(candidate):\n    if round(candidate(1), 2) < 2 or round(candidate(1), 2) > 2:\n        raise AssertionError",
        {"entry_point": "f"},
    ),
    "nan: max of differences": (
        "def f(x): return [float('nan')] * 2\n",
        "assert not max(abs(a - b) for a, b in zip(f(2), [1, 2])) > 1e-6",
        {},
    ),
    "nan: complex": ("def f(x): return complex('nan')\n", "assert not abs(f(1) - 2) > 1e-6", {}),
    "nan: Decimal": (
        "from decimal import Decimal\ndef f(x): return Decimal('nan')\n",
        "if abs(f(1) - 2) > 1e-6:\n    raise AssertionError\nassert f(1) is not None",
        {},
    ),
    "nan: float subclass": ("class F(float): pass\ndef f(x): return F('nan')\n", "assert not abs(f(1) - 2) > 1e-6", {}),
    "nan: statistics": (NAN, "import statistics\nassert not abs(statistics.mean([f(1)]) - 2) > 1e-6", {}),
    "nan: assertLess other way": (
        NAN,
        "import unittest\nfrom solution import f\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertFalse(f(1) < 2 - 1e-6 or f(1) > 2 + 1e-6)",
        {},
    ),
    "nan: in a dict": (
        "def f(x): return {'a': float('nan')}\n",
        "want = {'a': 2.0}\nout = f(1)\nassert out.keys() == want.keys()\nassert not [k for k in want if abs(out[k] - want[k]) > 1e-6]",
        {},
    ),
    "nan: numpy.float64": (
        "import numpy as np\ndef f(x): return np.float64('nan')\n",
        "assert not abs(f(1) - 2) > 1e-6",
        {},
    ),
    "inf minus inf": ("def f(x): return float('inf')\n", "assert not abs(f(1) - f(2) + 1) > 1e-6", {}),
    # SystemExit and other ends in threads, futures, tasks
    "SystemExit in a thread": (
        W2,
        WEAK
        + "import threading\ndef go():\n    assert f(1) == 2\nt = threading.Thread(target=go)\nt.start()\nt.join()",
        {},
    ),
    "SystemExit in a future": (
        W2,
        WEAK
        + "from concurrent.futures import ThreadPoolExecutor\ndef go():\n    assert f(1) == 2\nwith ThreadPoolExecutor() as pool:\n    pool.submit(go)",
        {},
    ),
    "SystemExit in suppress": (
        W2,
        WEAK + "from contextlib import suppress\nwith suppress(SystemExit):\n    assert f(1) == 2",
        {},
    ),
    "SystemExit in a thread, result list": (
        W2,
        WEAK
        + "import threading\nout = []\ndef go():\n    r = f(1)\n    out.append(r)\nt = threading.Thread(target=go)\nt.start()\nt.join()\nassert all(r == 2 for r in out) and isinstance(f(3), int)",
        {},
    ),
    "ValueError in a thread, result list": (
        W2.replace("SystemExit", "ValueError"),
        WEAK
        + "import threading\nout = []\ndef go():\n    r = f(1)\n    out.append(r)\nt = threading.Thread(target=go)\nt.start()\nt.join()\nfor r in out:\n    assert r == 2",
        {},
    ),
    "KeyboardInterrupt in a thread": (
        W2.replace("SystemExit", "KeyboardInterrupt"),
        WEAK
        + "import threading\ndef go():\n    assert f(1) == 2\nt = threading.Thread(target=go)\nt.start()\nt.join()",
        {},
    ),
    "CancelledError in a task": (
        "import asyncio\ndef f(x):\n    if x == 1:\n        raise asyncio.CancelledError\n    return 7\n",
        WEAK
        + "import asyncio\nasync def go():\n    assert f(1) == 2\nasync def main():\n    t = asyncio.create_task(go())\n    await asyncio.sleep(0)\nasyncio.run(main())",
        {},
    ),
    "SystemExit in __del__": (W2, WEAK + "class D:\n    def __del__(self):\n        assert f(1) == 2\nD()", {}),
    "SystemExit at the end": (W2, WEAK + "import atexit\n@atexit.register\ndef t():\n    assert f(1) == 2", {}),
    "a thread's exit in a test function": (
        W2,
        "import threading\ndef test_f():\n    assert isinstance(f(9), int)\n    def go():\n        assert f(1) == 2\n    t = threading.Thread(target=go)\n    t.start()\n    t.join()",
        {},
    ),
    # callbacks whose failed check the code swallows
    "callback: swallowed": (
        "def f(g, x):\n    try:\n        g(7)\n    except BaseException:\n        pass\n",
        "seen = []\ndef g(x):\n    seen.append(x)\n    assert x == 2\nf(g, 1)\nassert len(seen) == 1",
        {},
    ),
    "callback: raises another": (
        "def f(g, x):\n    try:\n        g(7)\n    except BaseException:\n        raise ValueError\n",
        "import pytest\ndef g(x):\n    assert x == 2\nwith pytest.raises(ValueError):\n    f(g, 1)\nassert callable(g)",
        {},
    ),
    "callback: in a thread": (
        "import threading\ndef f(g, x):\n    def go():\n        try: g(7)\n        except BaseException: pass\n    go()\n    return None\n",
        "done = []\ndef g(x):\n    done.append(1)\n    assert x == x + 1 or x == 2\nf(g, 1)\nassert done",
        {},
    ),
    "callback: unittest": (
        "def f(g, x):\n    try:\n        g(7)\n    except BaseException:\n        pass\n",
        "import unittest\nfrom solution import f\nclass T(unittest.TestCase):\n    def test_a(self):\n        seen = []\n        def g(x):\n            seen.append(x)\n            self.assertEqual(x, 2)\n        f(g, 1)\n        self.assertEqual(len(seen), 1)",
        {},
    ),
    "callback: one good, one bad": (
        "def f(g, x):\n    g(2)\n    try:\n        g(7)\n    except BaseException:\n        pass\n",
        "seen = []\ndef g(x):\n    seen.append(x)\n    assert x in (2, 3)\nf(g, 1)\nassert len(seen) == 2",
        {},
    ),
    "callback: bad, then any that is good": (
        "def f(g, h):\n    try:\n        g(7)\n    except BaseException:\n        pass\n    h(1)\n",
        "seen = []\ndef g(x):\n    seen.append(x)\n    assert x == 2\ndef h(x):\n    seen.append(x)\n    assert x == 1\nf(g, h)\nassert len(seen) == 2",
        {},
    ),
    # classes whose comparison lies
    "class: dot product": (
        LIAR.replace("Liar", "Vector"),
        "v = Vector(1, 2)\nassert v * Vector(3, 4) == 11\nassert v.dot(Vector(3, 4)) == 11",
        {},
    ),
    "class: dot product, made": (
        LIAR.replace("Liar", "Vector") + "    x = 1\n    y = 2\n    __mul__ = lambda s, o: s\n",
        "v = Vector(1, 2)\nassert v.x == 1 and v.y == 2\nassert v * Vector(3, 4) == 11\nassert Vector(1, 2) == Vector(1, 2)",
        {},
    ),
    "class: made by an operator": (
        "class V:\n    def __init__(s, x): s.x = x\n    def __eq__(s, o): return True\n    def __mul__(s, o): return V(s.x)\n",
        "v = V(2)\nassert v.x == 2\nassert v * 3 == 6\nassert v * V(5) == 10",
        {},
    ),
    "class: metaclass compares": (
        "class M(type):\n    def __eq__(c, o): return True\n    def __hash__(c): return 0\n    def __lt__(c, o): return True\nclass C(metaclass=M): pass\ndef f(x): return C\n",
        TESTS,
        {},
    ),
    "class: metaclass call gives a number that lies": (
        "class N(int):\n    def __eq__(s, o): return True\n    __hash__ = int.__hash__\nclass M(type):\n    def __call__(c, *a): return N(9)\nclass f(metaclass=M): pass\n",
        TESTS,
        {},
    ),
    "class: __class__ lies": (
        "class C:\n    @property\n    def __class__(self): return int\n    def __eq__(self, o): return True\n    __hash__ = None\ndef f(x): return C()\n",
        TESTS,
        {},
    ),
    "class: __class__ lies, dict": (
        "class C:\n    @property\n    def __class__(self): return dict\n    def __eq__(self, o): return True\ndef f(x): return C()\n",
        "assert f(1) == {'a': 1}",
        {},
    ),
    "class: Solution that returns itself": (
        LIAR.replace("Liar", "Solution") + "    def g(self, x): return self\n",
        "s = Solution()\nassert s.g(1) == 2\nassert Solution().g(5) == 6",
        {},
    ),
    "class: Solution, a property": (
        LIAR.replace("Liar", "Solution") + "    def g(self, x): return self\n",
        "def check(candidate):\n    assert candidate(1) == 2",
        {"entry_point": "Solution().g"},
    ),
    "class: total_ordering": (
        "import functools\n@functools.total_ordering\nclass C:\n    def __eq__(s, o): return True\n    def __lt__(s, o): return True\ndef f(x): return C()\n",
        "assert f(1) <= 2 and f(1) >= 2",
        {},
    ),
    "class: enum that lies": (
        "import enum\nclass C(enum.Enum):\n    A = 1\n    def __eq__(s, o): return True\n    def __hash__(s): return 2\ndef f(x): return C.A\n",
        TESTS,
        {},
    ),
    "class: IntFlag": (
        "import enum\nclass C(enum.IntFlag):\n    A = 1\n    def __eq__(s, o): return True\n    __hash__ = int.__hash__\ndef f(x): return C.A\n",
        TESTS,
        {},
    ),
    "class: slots and getattribute": (
        "class C:\n    __slots__ = ()\n    def __getattribute__(s, n): return lambda *a, **k: True\n    def __eq__(s, o): return True\ndef f(x): return C()\n",
        "r = f(1)\nassert r.equals(3)\nassert r == 2",
        {},
    ),
    "class: descriptor": (
        "class D:\n    def __get__(s, o, t=None): return 2\n    def __eq__(s, o): return True\nclass C:\n    __eq__ = D()\ndef f(x): return C()\n",
        TESTS,
        {},
    ),
    # numpy's protocols
    "numpy: __array_priority__": (
        "import numpy as np\nclass A(np.ndarray):\n    __array_priority__ = 1e9\n    def __eq__(s, o): return True\n    def all(s): return True\ndef f(x): return np.array([9]).view(A)\n",
        "import numpy as np\nassert (f(1) == 2).all()\nassert np.allclose(f(1), 2)",
        {},
    ),
    "numpy: __array_function__": (
        "import numpy as np\nclass A:\n    def __array_function__(s, *a): return True\n    def __array_ufunc__(s, *a, **k): return True\n    def __array__(s, *a, **k): return np.array([2])\ndef f(x): return A()\n",
        "import numpy as np\nassert np.allclose(f(1), 2)\nassert np.array_equal(f(1), [2])",
        {},
    ),
    "numpy: masked": (
        "import numpy as np\ndef f(x): return np.ma.masked_array([9, 9], mask=[1, 1])\n",
        "import numpy as np\nassert np.allclose(f(1), [2, 3])\nassert (f(1) == [2, 3]).all()",
        {},
    ),
    "numpy: masked constant": (
        "import numpy as np\ndef f(x): return np.ma.masked\n",
        "assert not abs(f(1) - 2) > 1e-6",
        {},
    ),
    "numpy: structured": (
        "import numpy as np\ndef f(x): return np.zeros(1, dtype=[('a', 'i4')])\n",
        "import numpy as np\nassert (f(1)['a'] == 2).all()",
        {},
    ),
    "numpy: objects": (
        "import numpy as np\nclass L:\n    def __eq__(s, o): return True\ndef f(x): return np.array([L()], dtype=object)\n",
        "import numpy as np\nassert (f(1) == 2).all()\nassert np.array_equal(f(1), [2])",
        {},
    ),
    "numpy: matrix": (
        "import numpy as np\ndef f(x): return np.matrix(np.zeros((0, 2)))\n",
        "import numpy as np\nassert (f(1) == np.array([1, 2])).all()",
        {},
    ),
    "numpy: uint8 wraps": (
        "import numpy as np\ndef f(x): return np.array([1], dtype=np.uint8)\n",
        "import numpy as np\nassert (f(1) - np.uint8(2) < 1).all()",
        {},
    ),
    "numpy: bool array for ints": (
        "import numpy as np\ndef f(x): return np.array([True, True])\n",
        "import numpy as np\nassert (f(1) == np.array([1, 2])).all()",
        {},
    ),
    "numpy: broadcast": (
        "import numpy as np\ndef f(x): return np.zeros((3, 0))\n",
        "import numpy as np\nassert (f(1) == np.ones((3, 1))).all()",
        {},
    ),
    "numpy: recarray": (
        "import numpy as np\ndef f(x): return np.rec.array([(9,)], dtype=[('x', 'i8')])\n",
        "assert f(1).x == 2",
        {},
    ),
    "numpy: errstate": (
        "import numpy as np\nnp.seterr(all='ignore')\nnp.isclose = np.allclose = lambda *a, **k: True\ndef f(x): return np.array([9.0])\n",
        "import numpy as np\nassert np.allclose(f(1), 2)",
        {},
    ),
    "numpy: vacuous by mean": (
        "import numpy as np\ndef f(x): return np.array([])\n",
        "import numpy as np\nassert not np.mean((f(1) - np.array([])) ** 2) > 1e-6\nassert not np.mean(np.abs(f(1))) > 3",
        {},
    ),
    # hooks, frames, gc, descriptors
    "monitoring": (
        "import sys\nm = getattr(sys, 'monitoring', None)\nif m:\n    m.use_tool_id(1, 'x')\n    m.register_callback(1, m.events.PY_RETURN, lambda c, o, v: 2)\n    m.set_events(1, m.events.PY_RETURN)\ndef f(x): return 7\n",
        TESTS,
        {},
    ),
    "setprofile": (
        "import sys, threading\nsys.setprofile(lambda fr, ev, a: fr.f_locals.update(value=2))\nthreading.setprofile(lambda *a: None)\ndef f(x): return 7\n",
        TESTS,
        {},
    ),
    "audit hook": (
        "import sys\ndef hook(n, a):\n    if n == 'sys._getframe': pass\nsys.addaudithook(hook)\ndef f(x): return 7\n",
        TESTS,
        {},
    ),
    "referrers of the reply": (
        "import gc\ndef f(x):\n    for o in gc.get_objects():\n        if type(o) is dict and o.get('do') == 'call':\n            o['values'] = [2]; o['do'] = 'attribute'\n    return 7\n",
        TESTS,
        {},
    ),
    "recursion limit": ("import sys\nsys.setrecursionlimit(60)\ndef f(x): return 7\n", TESTS, {}),
    "recursion to the end": (
        "def f(x):\n    try:\n        return f(x)\n    except RecursionError:\n        return 2\n",
        "assert f(1) == 2\nassert f(5) == 6",
        {},
    ),
    "crash by ctypes in a thread": (
        "import ctypes, threading\nthreading.Timer(0.05, lambda: ctypes.string_at(0)).start()\ndef f(x):\n    import time; time.sleep(0.2); return 2\n",
        TESTS,
        {},
    ),
    "faulthandler": ("import faulthandler\ndef f(x):\n    faulthandler._sigsegv()\n", TESTS, {}),
    "dup of the pipes": (
        "import os\ndef f(x):\n    for fd in (3, 4):\n        for _ in range(40):\n            try: os.dup(fd)\n            except OSError: break\n    return 7\n",
        TESTS,
        {},
    ),
    "pipes become each other": (
        "import os\ndef f(x):\n    r, w = os.pipe()\n    os.dup2(r, 3); os.dup2(w, 4)\n    return 7\n",
        TESTS,
        {},
    ),
    "nonblocking pipes": (
        "import os\nos.set_blocking(3, False); os.set_blocking(4, False)\ndef f(x): return 'a' * 3000000 if x == 1 else 7\n",
        "assert f(1) == 2",
        {},
    ),
    "half a reply": (
        "import os, time\ndef f(x):\n    os.write(4, b'{\"value\": '); time.sleep(0.1); os.write(4, b'2}\\n'); return 7\n",
        TESTS,
        {},
    ),
    "two JSON values": (
        'import os\ndef f(x):\n    os.write(4, b\'{"value": 7} {"value": 2}\\n\'); os.read(3, 9999); return 7\n',
        TESTS,
        {},
    ),
    "a key twice": (
        'import os\ndef f(x):\n    os.write(4, b\'{"value": 7, "value": 9}\\n\'); os.read(3, 9999); return 7\n',
        TESTS,
        {},
    ),
    "UTF-16": (
        "import os\ndef f(x):\n    os.write(4, '{\"value\": 7}'.encode('utf-16')[:-1] + b'\\n\\n'); return 7\n",
        TESTS,
        {},
    ),
    "warnings as errors": (
        "import warnings\nwarnings.simplefilter('error')\nwarnings.showwarning = lambda *a: None\ndef f(x):\n    warnings.warn('x'); return 7\n",
        TESTS,
        {},
    ),
    "warnings that exit": (
        "import warnings, os\nwarnings.showwarning = lambda *a: os._exit(0)\ndef f(x):\n    warnings.warn('x'); return 7\n",
        TESTS,
        {},
    ),
    "locale": (
        "import locale\ntry: locale.setlocale(locale.LC_ALL, 'tr_TR.UTF-8')\nexcept Exception: pass\ndef f(x): return 7\n",
        TESTS,
        {},
    ),
    "json patched": (
        "import json\njson.dumps = lambda *a, **k: '{\"value\": 7}'\njson.loads = lambda *a, **k: {'do': 'call', 'values': [], 'names': []}\ndef f(x): return 7\n",
        TESTS,
        {},
    ),
    "json encoder of C": (
        "import json.encoder\njson.encoder.encode_basestring_ascii = lambda s: '\"value\"'\njson._default_encoder.default = lambda o: 2\ndef f(x): return object\n",
        TESTS,
        {},
    ),
    "int's max digits": (
        "import sys\nsys.set_int_max_str_digits(0)\ndef f(x): return 10 ** 5000\n",
        "assert str(f(1)) == '2'",
        {},
    ),
    "big text of digits": ("def f(x): return '9' * 5000\n", "assert int(f(1)) == 2", {}),
    "import hooks": (
        "import sys\nclass F:\n    def find_spec(self, n, p=None, t=None):\n        raise ImportError(n, name='solution')\nsys.meta_path.insert(0, F())\ndef f(x): return 7\n",
        "import colorsys\nassert f(1) == 2",
        {},
    ),
    "codecs": (
        "import codecs\ncodecs.register(lambda n: (lambda *a: (b'2', 1),) * 4)\ncodecs.register_error('strict', lambda e: ('2', e.end))\ndef f(x): return '\\ud800'\n",
        "assert f(1) == '2'",
        {},
    ),
    "str of the same hash": (
        "class S(str):\n    def __hash__(s): return hash('b')\n    def __eq__(s, o): return True\ndef f(x): return S('a')\n",
        "assert {'b': 2}[f(1)] == 2",
        {},
    ),
    "bytes for text": (
        "class B(bytes):\n    def decode(s, *a): return '2'\n    def __eq__(s, o): return True\n    __hash__ = bytes.__hash__\ndef f(x): return B(b'7')\n",
        "assert f(1).decode() == '2'",
        {},
    ),
    "int with index": (
        "class I(int):\n    def __index__(s): return 2\n    def __int__(s): return 2\n    def __str__(s): return '2'\n    def __format__(s, f): return '2'\ndef f(x): return I(9)\n",
        "assert int(f(1)) == 2\nassert str(f(1)) == '2'",
        {},
    ),
    "float's as_integer_ratio": (
        "class F(float):\n    def is_integer(s): return True\n    def __round__(s, n=0): return 2\n    def __trunc__(s): return 2\ndef f(x): return F(9.5)\n",
        "import math\nassert round(f(1)) == 2\nassert math.trunc(f(1)) == 2",
        {},
    ),
    "UserDict": (
        "import collections\nclass D(collections.UserDict):\n    def __getitem__(s, k): return 2\n    def __eq__(s, o): return True\ndef f(x): return D()\n",
        "assert f(1) == {'a': 2}\nassert dict(f(1)) == {'a': 2}",
        {},
    ),
    "dict with __missing__": (
        "class D(dict):\n    def __missing__(s, k): return 2\n    def __len__(s): return 1\n    def __eq__(s, o): return True\ndef f(x): return D()\n",
        "assert f(1) == {'a': 2}",
        {},
    ),
    "list that grows": (
        "class Ls(list):\n    def __eq__(s, o): return True\n    def __iter__(s): return iter([2])\n    def __len__(s): return 1\ndef f(x): return Ls()\n",
        "assert f(1) == [2]\nassert list(f(1)) == [2]\nassert len(f(1)) == 1",
        {},
    ),
    "generator's frame": (
        "def f(x):\n    def g():\n        yield 7\n    i = g()\n    i.gi_frame.f_locals['x'] = 2\n    return i\n",
        "assert list(f(1)) == [2]",
        {},
    ),
    "weak proxy": (
        "import weakref\nclass C:\n    def __eq__(s, o): return True\nc = C()\ndef f(x): return weakref.proxy(c)\n",
        TESTS,
        {},
    ),
    "mock in a value": (
        "from unittest.mock import MagicMock\ndef f(x):\n    m = MagicMock()\n    m.__eq__.return_value = True\n    m.__lt__.return_value = True\n    m.__sub__.return_value = 0\n    return m\n",
        TESTS,
        {},
    ),
    "mock.ANY": ("from unittest.mock import ANY\ndef f(x): return ANY\n", TESTS, {}),
    "mock.ANY in a list": (
        "from unittest.mock import ANY\ndef f(x): return [ANY, {'a': ANY}]\n",
        "assert f(1) == [2, {'a': 3}]\nassert f(1)[0] == 2",
        {},
    ),
    "mock sentinel as f": (
        "from unittest.mock import MagicMock\nf = MagicMock()\nf.return_value.__eq__ = lambda s, o: True\n",
        TESTS,
        {},
    ),
    "pytest approx": (
        "try:\n    import pytest\n    def f(x): return pytest.approx(x, abs=1e9)\nexcept ImportError:\n    def f(x): return 7\n",
        TESTS,
        {},
    ),
    "typing Any": ("from typing import Any\ndef f(x): return Any\n", TESTS, {}),
    "partial with eq": (
        "import functools\nclass P(functools.partial):\n    def __eq__(s, o): return True\n    __hash__ = None\nf = P(lambda x: P(int))\n",
        TESTS,
        {},
    ),
    "property of the module": (
        "import sys, types\nclass M(types.ModuleType):\n    @property\n    def f(self): return lambda x: x + 2\nsys.modules['solution'].__class__ = M\ndef f(x): return 7\n",
        TESTS,
        {},
    ),
    "lambda default": ("f = lambda x, *a, r=[]: r.append(x) or len(r)\n", "assert f(1) == 2\nassert f(5) == 6", {}),
    "argument kept and changed later": (
        "kept = []\ndef f(x):\n    kept.append(x)\n    for k in kept:\n        k.clear()\n    return []\n",
        "a = [3, 1]\nwant = [1, 3]\nassert f(a) == want",
        {},
    ),
    "argument: the wanted value is in it": (
        "def f(case):\n    case['want'] = 7\n    return 7\n",
        "for case in ({'x': 1, 'want': 2}, {'x': 5, 'want': 6}):\n    assert f(dict(case)) == case['want']",
        {},
    ),
    "sys.argv": ("import sys\nsys.argv.append('x')\nprint(sys.argv[0])\n", {"inputs": ["1"], "outputs": ["2"]}, {}),
    "stdout: closed": (
        "import sys\nprint(2)\nsys.stdout.close()\nraise SystemExit(3)",
        {"inputs": ["1"], "outputs": ["2"]},
        {},
    ),
    "stdout: seek": (
        "import sys, os\nos.write(1, b'9')\nos.lseek(1, 0, 0)\nos.ftruncate(1, 0)\nos.write(1, b'7')",
        {"inputs": ["1"], "outputs": ["2"]},
        {},
    ),
    "stdout: of a later run": (
        "import builtins, sys\nbuiltins.compile = lambda *a: (lambda: 0).__code__\nprint(7)",
        {"inputs": ["1", "4"], "outputs": ["2", "5"]},
        {},
    ),
    "stdout: program.run patched": (
        "import sys\nsys.modules['reward.sandbox.code_process.program'].run = lambda c, g: '2'\nprint(7)",
        {"inputs": ["1", "4"], "outputs": ["2", "5"]},
        {},
    ),
    "stdout: stderr": ("import sys\nprint(2, file=sys.stderr)", {"inputs": ["1"], "outputs": ["2"]}, {}),
    "stdout: form feed": ("print('2\\x0c2')", {"inputs": ["1"], "outputs": ["2\n2"]}, {}),
    "stdout: all numbers on a line": ("print(*range(100))", {"inputs": ["1"], "outputs": ["2"]}, {}),
    "stdout: tabs between digits": ("print('1\\t2')", {"inputs": ["1"], "outputs": ["12"]}, {}),
    "stdout: sNaN": ("print('sNaN')", {"inputs": ["1"], "outputs": ["2.5"]}, {}),
    "stdout: huge exponent": ("print('1e999999999999')", {"inputs": ["1"], "outputs": ["2.5"]}, {}),
    "stdout: -0": ("print('-0.0000000001')", {"inputs": ["1"], "outputs": ["1"]}, {}),
    "stdout: KeyboardInterrupt": ("print(2)\nraise KeyboardInterrupt", {"inputs": ["1"], "outputs": ["2"]}, {}),
    "stdout: GeneratorExit": ("print(2, flush=True)\nraise GeneratorExit", {"inputs": ["1"], "outputs": ["2"]}, {}),
    "stdout: recursion": ("print(2, flush=True)\ndef g(): g()\ng()", {"inputs": ["1"], "outputs": ["2"]}, {}),
    "stdout: exit with a text": ("print(2)\nimport sys\nsys.exit('no')", {"inputs": ["1"], "outputs": ["2"]}, {}),
    "stdout: exit by a liar": (
        "print(2)\nclass L:\n    def __eq__(s, o): return True\n    __hash__ = None\nimport sys\nsys.exit(L())",
        {"inputs": ["1"], "outputs": ["2"]},
        {},
    ),
    "fn: kwargs": (
        "class Solution:\n    def __init__(self): self.n = 0\n    def g(self, *a):\n        self.n += 1\n        return [[[self.n]]]\n",
        {"inputs": [[1]], "outputs": [1], "fn_name": "g"},
        {},
    ),
    "fn: dict with keys that lie": (
        "class K(str):\n    def __str__(s): return 'a'\n    def __eq__(s, o): return True\n    __hash__ = str.__hash__\ndef g(x): return {K('q'): 1}\n",
        {"inputs": [[1]], "outputs": [{"a": 1}], "fn_name": "g"},
        {},
    ),
    "fn: keys that are objects": (
        "class K:\n    def __str__(s): return 'b'\ndef g(x): return {K(): 1}\n",
        {"inputs": [[1]], "outputs": [{"a": 1}], "fn_name": "g"},
        {},
    ),
    "fn: nan for a number": (
        "def g(x): return float('nan')\n",
        {"inputs": [[1]], "outputs": [2.0], "fn_name": "g"},
        {},
    ),
    "fn: ANY": (
        "from unittest.mock import ANY\ndef g(x): return [ANY]\n",
        {"inputs": [[1]], "outputs": [[2]], "fn_name": "g"},
        {},
    ),
    "fn: an array that broadcasts": (
        "import numpy as np\ndef g(x): return np.array([])\n",
        {"inputs": [[1]], "outputs": [2], "fn_name": "g"},
        {},
    ),
    "fn: an array of all": (
        "import numpy as np\ndef g(x): return np.array([[True]])\n",
        {"inputs": [[1]], "outputs": [[2, 3]], "fn_name": "g"},
        {},
    ),
    "fn: a generator": ("def g(x):\n    yield 7\n", {"inputs": [[1]], "outputs": [[2]], "fn_name": "g"}, {}),
    "fn: a set": ("def g(x): return {2}\n", {"inputs": [[1]], "outputs": [[2, 3]], "fn_name": "g"}, {}),
}
HANDED_BACK = {
    "np.str": ("import numpy as np\n", "np.array(['a', 'b'])[0]"),
    "array of texts": ("import numpy as np\n", "np.array(['a', 'b'])"),
    "datetime64": ("import numpy as np\n", "np.datetime64('2020-01-01')"),
    "timezone": ("import datetime\n", "datetime.datetime.now(datetime.timezone.utc)"),
    "time": ("import datetime\n", "datetime.time(1, 2)"),
    "tz": ("import datetime\n", "datetime.timezone.utc"),
    "deque": ("import collections\n", "collections.deque([1], 3)"),
    "chainmap": ("import collections\n", "collections.ChainMap({1: 2})"),
    "error": ("", "UnicodeDecodeError('a', b'b', 0, 1, 'c')"),
    "group": ("", "ExceptionGroup('a', [ValueError()])"),
    "oserror": ("", "OSError(2, 'x', 'y')"),
    "view": ("", "{1: 2}.items()"),
    "mappingproxy": ("import types\n", "types.MappingProxyType({1: 2})"),
    "empty array": ("import numpy as np\n", "np.zeros((0, 3))"),
    "complex64": ("import numpy as np\n", "np.complex64(1)"),
    "nan array": ("import numpy as np\n", "np.array([np.nan])"),
    "nan": ("", "float('nan')"),
    "type": ("", "int"),
    "memoryview": ("", "memoryview(b'a')"),
    "array": ("import array\n", "array.array('i', [1])"),
    "slice": ("", "slice(1, 2, None)"),
    "range": ("", "range(5)"),
    "lambda": ("", "lambda y: y"),
    "module": ("import math\n", "math"),
    "partial": ("import functools\n", "functools.partial(int)"),
    "re": ("import re\n", "re.compile('a')"),
    "match": ("import re\n", "re.match('a', 'a')"),
    "uuid": ("import uuid\n", "uuid.UUID(int=1)"),
    "path": ("import pathlib\n", "pathlib.Path('.')"),
    "enum": ("import enum\nclass E(enum.Enum):\n    A = 1\n", "E.A"),
    "named": ("import collections\nP = collections.namedtuple('P', 'x')\n", "P(1)"),
    "iter": ("", "iter([1, 2])"),
    "void": ("import numpy as np\n", "np.zeros(1, dtype='i4,i4')[0]"),
    "masked": ("import numpy as np\n", "np.ma.masked"),
    "half": ("import numpy as np\n", "np.array([1], dtype=np.float16)"),
    "Fraction": ("import fractions\n", "fractions.Fraction(1, 3)"),
    "bool_": ("import numpy as np\n", "np.bool_(True)"),
    "notimpl": ("", "NotImplemented"),
    "dd": ("import collections\n", "collections.defaultdict(lambda: 1, a=1)"),
    "counter": ("import collections\n", "collections.Counter('aab')"),
    "deep": ("", "deep(195)"),
}
DEEP = "def deep(n): return [] if n == 0 else [deep(n - 1)]\n"
WAYS = {
    "back": "r = f(1)\nassert f(r) == 2",
    "in a list": "r = f(1)\nassert f([r, {'a': r}]) == 2",
    "item": "r = f(1)\ntry:\n    r = r[0]\nexcept Exception:\n    r = [*r]\nassert f(r) == 2",
}
ATTACKS |= {
    f"handed {way}: {name}": (
        f"{imports}{DEEP}def f(x):\n    return {value} if type(x) is int and x == 1 else 7\n",
        tests,
        {},
    )
    for name, (imports, value) in HANDED_BACK.items()
    for way, tests in WAYS.items()
}
