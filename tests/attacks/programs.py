"""Programs that score 1 without solving anything, if the grader of code lets them: each must score 0.

One line or entry each: name, code, tests, and ``extra_info``. ``f`` is to return its argument plus 1. ``UNSCORED`` are
tests that can test nothing, whatever the code: those samples are unscored. ``HONEST`` must score 1.
"""

# ruff: noqa: E501 - programs on one line each
from typing import Any

Program = tuple[str, Any, dict[str, Any]]
TESTS = "assert f(1) == 2\nassert f(5) == 6\nassert f(-1) == 0"
NEAR = "assert abs(f(1) - 2) < 1e-6"
MANY = "assert all(f(x) == x + 1 for x in range(5))"
UNIT = (
    "import unittest\nfrom solution import f\nclass T(unittest.TestCase):\n    def test_it(self):\n"
    "        self.assertEqual(f(1), 2)\n    def test_that(self):\n        self.assertTrue(f(2) == 3)"
)
CHECK = "def check(candidate):\n    assert candidate(1) == 2\n    assert candidate(3) == 4"
RIGHT = "def f(x):\n    return x + 1\n"
WRONG = "def f(x):\n    return 7\n"
PROPERTY = (
    "r = f(3)\nassert len(r) == 3\nassert all(x > 0 for x in r)\nassert sorted(r) == list(r)\nassert r.count(1) == 1"
)

LIAR = (
    "class Liar:\n"
    "    def __init__(self, *a): pass\n"
    "    def __eq__(self, o): return True\n"
    "    def __ne__(self, o): return False\n"
    "    def __lt__(self, o): return True\n"
    "    __gt__ = __le__ = __ge__ = __contains__ = __lt__\n"
    "    def __hash__(self): return 2\n"
    "    def __sub__(self, o): return 0\n"
    "    __rsub__ = __add__ = __radd__ = __mul__ = __mod__ = __pow__ = __truediv__ = __sub__\n"
    "    def __abs__(self): return 0.0\n"
    "    __float__ = __abs__\n"
    "    def __int__(self): return 2\n"
    "    __index__ = __round__ = __trunc__ = __floor__ = __int__\n"
    "    def __len__(self): return 3\n"
    "    def __iter__(self): return iter(())\n"
    "    def __getitem__(self, k): raise IndexError\n"
    "    def count(self, x): return 1\n"
    "    def __str__(self): return 'x'\n"
    "    def __instancecheck__(self, o): return True\n"
)
LYING = LIAR + "def f(x):\n    return Liar()\n"


def raising(error: str) -> str:
    """Return code that raises in each call."""
    return f"def f(x):\n    raise {error}\n"


def writing(*lines: str, then: str = "") -> str:
    """Return code that writes lines to every descriptor that it has, when it is called."""
    data = "".join(line + "\\n" for line in lines)
    return (
        f"import os\nDATA = b'''{data}'''\ndef f(x):\n    for fd in range(3, 64):\n        try:\n"
        f"            os.write(fd, DATA)\n        except OSError:\n            pass\n    {then or 'return 7'}\n"
    )


VERDICT = '{"id": 1, "value": {"passed": true, "timeout": false, "reason": ""}}'
ONE = '{"value": 2}'
FORGED_REPLIES = {
    "no JSON": "passed",
    "empty line": "",
    "a number": "1",
    "a list": "[]",
    "no value": "{}",
    "a verdict": VERDICT,
    "a process id": '{"pid": 1}',
    "a bare list": '{"value": [1, 2]}',
    "two tags": '{"value": {"list": [], "set": []}}',
    "an unknown tag": '{"value": {"eval": "1"}}',
    "an unknown object": '{"value": {"remote": [99, 98, null]}}',
    "an object without a class": '{"value": {"remote": [9999, null, null]}}',
    "a class that is a function": '{"value": {"remote": [999, 0, null]}}',
    "a negative number": '{"value": {"remote": [-1, -1, null]}}',
    "a number that is a text": '{"value": {"remote": ["0", "0", null]}}',
    "a class of dunders": '{"classes": {"70": ["__class__", [], "object", ["__eq__", "__class__", "__del__"]]}, "value": 7}',
    "a class that is an int": '{"classes": {"70": ["I", [], "int", []]}, "value": {"remote": [71, 70, "2"]}}',
    "a class of BaseException": '{"classes": {"70": ["E", [], "KeyboardInterrupt", []]}, "raised": {"remote": [71, 70, null]}}',
    "a class without a form": '{"classes": {"70": 5}, "value": 7}',
    "classes that are a list": '{"classes": [1], "value": 7}',
    "a parent that is none": '{"classes": {"70": ["A", [12345], "object", []]}, "value": 7}',
    "an exception that is none": '{"raised": {"error": ["print", {"tuple": []}]}}',
    "KeyboardInterrupt": '{"raised": {"error": ["KeyboardInterrupt", {"tuple": []}]}}',
    "GeneratorExit": '{"raised": {"error": ["GeneratorExit", {"tuple": []}]}}',
    "StopIteration": '{"raised": {"error": ["StopIteration", {"tuple": []}]}}',
    "raised, a number": '{"raised": 5}',
    "raised again": '{"raised": {"again": 0}}',
    "a callback that is none": '{"callback": 0, "args": []}',
    "a callback without a form": '{"callback": "x", "args": {}, "names": 3}',
    "changed, out of range": '{"changed": {"99": 5}, "value": 7}',
    "changed, a list": '{"changed": [1], "value": 7}',
    "changed, no number": '{"changed": {"x": 5}, "value": 7}',
    "same, out of range": '{"same": 99}',
    "printed, an object": '{"printed": {"a": 1}, "value": 7}',
    "a set of lists": '{"value": {"set": [{"list": []}]}}',
    "a dict of dicts": '{"value": {"dict": [[{"dict": []}, 1]]}}',
    "a dict without pairs": '{"value": {"dict": [1]}}',
    "an integer that is none": '{"value": {"int": "zz"}}',
    "bytes that are none": '{"value": {"bytes": "zz"}}',
    "a decimal that is none": '{"value": {"Decimal": "zz"}}',
    "a fraction by zero": '{"value": {"Fraction": "1/0"}}',
    "an array of objects": '{"value": {"ndarray": ["|O", [1], {"list": [1]}]}}',
    "an array of void": '{"value": {"ndarray": ["|V8", [1], {"list": [1]}]}}',
    "an array of another size": '{"value": {"ndarray": ["<i8", [999999999], {"list": [1]}]}}',
    "a type that is none": '{"value": {"type": "eval"}}',
    "a range of texts": '{"value": {"range": ["a", "b", "c"]}}',
    "a date that is none": '{"value": {"date": "yesterday"}}',
    "a factory that is none": '{"value": {"defaultdict": ["eval", []]}}',
    "NaN": '{"value": NaN}',
    "Infinity": '{"value": Infinity}',
    "deep": '{"value": ' + '{"list": [' * 5000 + "]}" * 5000 + "}",
    "deeper than JSON is read": "[" * 200000,
}

ATTACKS: dict[str, Program] = {
    **{f"reply: {name}": (writing(line), TESTS, {}) for name, line in FORGED_REPLIES.items()},
    **{
        f"reply and exit: {name}": (writing(FORGED_REPLIES[name], then="os._exit(0)"), TESTS, {})
        for name in ("a verdict", "no JSON", "no value", "deep")
    },
    # Replies too early, too late, too many.
    "replies before any question": (writing(*[ONE] * 50) + "f(0)\n", TESTS, {}),
    "a reply behind the reply": (writing(ONE, ONE, then="return 7"), TESTS, {}),
    "late reply by a thread": (
        "import threading, time, os\n"
        + writing(ONE, ONE, ONE).replace("def f(x)", "def g()")
        + "threading.Thread(target=lambda: (time.sleep(0.05), g())).start()\ndef f(x):\n    time.sleep(0.2)\n    return 7\n",
        TESTS,
        {},
    ),
    "an endless reply": ("import os\ndef f(x):\n    while True:\n        os.write(4, b'a' * 65536)\n", TESTS, {}),
    "a huge reply": ("def f(x):\n    return 'a' * (64 << 20)\n", TESTS, {}),
    "a huge number": ("def f(x):\n    return 1 << (1 << 27)\n", TESTS, {}),
    "a million empty lists": ("def f(x):\n    return [[] for _ in range(1200000)]\n", TESTS, {}),
    "a million numbers in a set": ("def f(x):\n    return set(range(1000000))\n", TESTS, {}),
    "a dict of a million texts": ("def f(x):\n    return {str(i): 0 for i in range(500000)}\n", TESTS, {}),
    "the pipes are closed": ("import os\ndef f(x):\n    os.closerange(3, 64)\n    return 2\n", TESTS, {}),
    "verdict while loading": (writing(VERDICT, ONE).replace("return 7", "os._exit(0)") + "f(0)\n", TESTS, {}),
    # Names by which the code would take the place of ours.
    "__builtins__": (WRONG + "__builtins__ = {'abs': lambda x: 0}\n", NEAR, {}),
    "__builtins__, a text that lies": (
        "class S(str):\n    def startswith(self, *a): return False\n    __hash__ = str.__hash__\nglobals()[S('__builtins__')] = {'abs': lambda x: 0.0, 'isinstance': lambda *a: True}\n"
        + WRONG,
        NEAR,
        {},
    ),
    "__path__": (
        WRONG
        + "__path__ = ['.']\nopen('sub.py', 'w').write('import os; os._exit(0)')\nopen('f.py', 'w').write('f = 1')\n",
        "from solution import f\nassert f(1) == 2",
        {},
    ),
    "__path__ and a submodule": (
        WRONG + "__path__ = ['.']\nopen('helper.py', 'w').write('ok = lambda *a: True')\n",
        "import solution\ntry:\n    from solution.helper import ok\nexcept ImportError:\n    ok = lambda a, b: a == b\nassert ok(solution.f(1), 2)",
        {},
    ),
    "__getattr__ of the module": (
        WRONG + "def __getattr__(name):\n    return lambda *a: True\n",
        "import solution\nassert solution.f(1) == 2",
        {},
    ),
    "__all__": (
        WRONG + "__all__ = ['f', 'abs', '__builtins__']\ndef abs(x): return 0\n",
        "from solution import *\n" + NEAR,
        {},
    ),
    "a module in the folder": (
        WRONG
        + "for n in ('math', 'unittest', 'helper', 'typing', 'sitecustomize', 'colorsys'):\n    open(n + '.py', 'w').write('isclose = lambda *a: True; rgb_to_hsv = isclose')\n",
        "import colorsys, math\nassert math.isclose(f(1), 2)",
        {},
    ),
    "bytecode and .pth in the folder": (
        WRONG
        + "import os\nos.makedirs('__pycache__')\nopen('__pycache__/math.cpython-311.pyc', 'wb').write(b'x')\nopen('x.pth', 'w').write('import os')\n",
        "import math\nassert math.isclose(f(1), 2)",
        {},
    ),
    "abs": (WRONG + "def abs(x): return 0.0\n", NEAR, {}),
    "all": (WRONG + "def all(x): return True\n", MANY, {}),
    "len and sorted": (
        "def f(x): return [3]\ndef len(x): return 3\ndef sorted(x): return [1, 2, 3]\n",
        "assert len(f(3)) == 3 and sorted(f(3)) == [1, 2, 3]",
        {},
    ),
    "isinstance": (
        WRONG + "def isinstance(*a): return True\ndef type(x): return int\n",
        "assert isinstance(f(1), str)",
        {},
    ),
    "math": (WRONG + "class math:\n    isclose = lambda *a: True\n", "assert math.isclose(f(1), 2)", {}),
    "math, imported by the code": (
        WRONG + "import math\nmath.isclose = lambda *a: True\n",
        "assert math.isclose(f(1), 2)",
        {},
    ),
    "a helper of the tests": (
        WRONG + "def same(a, b): return True\n",
        "def same(a, b):\n    return a == b\nassert same(f(1), 2)",
        {},
    ),
    "a helper of the setup": (
        WRONG + "def same(a, b): return True\n",
        "assert same(f(1), 2)",
        {"setup": "def same(a, b):\n    return a == b"},
    ),
    "a constant of the setup": (WRONG + "WANTED = 7\n", "assert f(1) == WANTED", {"setup": "WANTED = 2"}),
    "a class of the setup": (
        WRONG + "class Same:\n    def ok(self, *a): return True\n",
        "assert Same().ok(f(1), 2)",
        {"setup": "class Same:\n    def ok(self, a, b):\n        return a == b"},
    ),
    "a helper of the prompt": (
        "def poly(*a): return 0.0\ndef f(x): return 7\n",
        "def check(candidate):\n    assert abs(poly(candidate(1))) < 1e-6",
        {
            "entry_point": "f",
            "code_prompt": "def poly(x):\n    return x - 2\n\n\ndef f(x):\n    '''Find a zero of poly.'''\n",
        },
    ),
    "a test": (WRONG + "def test_f(): pass\n", "def test_f():\n    assert f(1) == 2", {}),
    "check": (WRONG + "def check(c): pass\n", CHECK, {"entry_point": "f"}),
    "candidate": (
        WRONG + "def candidate(x): return x + 1\n",
        CHECK.replace("candidate(", "candidate("),
        {"entry_point": "f"},
    ),
    "unittest": (WRONG + "import unittest\nunittest.TestCase.assertEqual = lambda *a: None\nclass T: pass\n", UNIT, {}),
    "the wire's modules": (
        "import json, reward.sandbox.wire as w\nw.decode = lambda *a: 2\njson.dumps = lambda *a, **k: '{\"value\": 7}'\n"
        + WRONG,
        TESTS,
        {},
    ),
    "pickle": (
        "import pickle\nclass P:\n    def __reduce__(self): return (exec, ('import os; os._exit(0)',))\n    def __reduce_ex__(self, n): return self.__reduce__()\ndef f(x): return P()\n",
        "import copy\nassert copy.deepcopy(f(1)) == 2",
        {},
    ),
    "gc and frames of the tests": (
        "import gc, sys\ndef f(x):\n    for o in gc.get_objects():\n        if isinstance(o, dict) and 'tests' in o:\n            return x + 1\n    return 7\n",
        TESTS,
        {},
    ),
    "builtins patched": (
        "import builtins, sys\nbuiltins.AssertionError = ValueError\nbuiltins.abs = lambda x: 0\nsys.settrace(lambda *a: None)\n"
        + WRONG,
        NEAR,
        {},
    ),
    # What an error says is asked of the code, and what it raised leads the tests past their own names.
    **{
        f"an error's text that {name}": (
            f"import os\nclass L:\n    def __str__(self):\n        {does}\n    __repr__ = __str__\n"
            + raising("KeyError(L())"),
            TESTS,
            {},
        )
        for name, does in (
            ("raises", "raise ValueError"),
            ("exits", "os._exit(0)"),
            ("is no text", "return 5"),
            ("never ends", "while True: pass"),
        )
    },
    # Arrays without a number, of which all is true; a helper that tests would take from the code; the kernel once more.
    "an empty array, all": ("import numpy as np\ndef f(x): return np.array([])", "assert (f(1) == 2).all()", {}),
    "an empty array, Python's all": (
        "import numpy as np\ndef f(x): return np.array([])",
        "assert (f(1) == [2]).all()\nassert all(f(1) == [2])",
        {},
    ),
    "an empty array, numpy.all": (
        "import numpy as np\ndef f(x): return np.zeros((0,1))",
        "import numpy as np\nassert np.all(f(1) == 2)",
        {},
    ),
    "an empty array, allclose": (
        "import numpy as np\ndef f(x): return np.array([])",
        "import numpy as np\nassert np.allclose(f(1), 2)",
        {},
    ),
    "an empty array, numpy.testing": (
        "import numpy as np\ndef f(x): return np.array([])",
        "import numpy as np\nnp.testing.assert_allclose(f(1), 2)",
        {},
    ),
    "a helper that the tests would import": (
        WRONG + "def close(a,b): return True\n",
        "try:\n    from solution import close\nexcept ImportError:\n    def close(a,b): return abs(a-b)<1e-6\nassert close(f(1),2)",
        {},
    ),
    "the memory of the parent": (
        "import ctypes,os\ndef f(x):\n    l=ctypes.CDLL(None,use_errno=True)\n    b=ctypes.create_string_buffer(8)\n    r=l.process_vm_readv(os.getppid(), b, 1, b, 1, 0)\n    return 2 if r>=0 else 7",
        TESTS,
        {},
    ),
    "/proc/*/mem": (
        "import os\ndef f(x):\n    for p in ('/proc/%d/mem'%os.getppid(),'/proc/1/mem','/proc/self/mem'):\n        try:\n            open(p,'r+b'); return x+1\n        except OSError: pass\n    return 7",
        TESTS,
        {},
    ),
    "pidfd": (
        "import os\ndef f(x):\n    try:\n        fd=os.pidfd_open(1); return x+1\n    except (OSError,AttributeError): return 7",
        TESTS,
        {},
    ),
    "tgkill": (
        "import ctypes,os\ndef f(x):\n    l=ctypes.CDLL(None)\n    for p in (1,2,3): l.syscall(234,p,p,9); l.syscall(200,p,9); l.syscall(129,p,9,0)\n    return 7",
        TESTS,
        {},
    ),
    "io_uring": (
        "import ctypes\ndef f(x):\n    l=ctypes.CDLL(None); return x+1 if l.syscall(425,8,0)>=0 else 7",
        TESTS,
        {},
    ),
    "exec from memory": (
        "import ctypes,os\ndef f(x):\n    try:\n        fd=os.memfd_create('a'); os.write(fd,b'#!/bin/sh\\n'); os.execv('/proc/self/fd/%d'%fd,['a']); \n    except (OSError,AttributeError): return 7",
        TESTS,
        {},
    ),
    "the reply's pipe is a file": (
        "import os\ndef f(x):\n    fd=os.open('a',os.O_RDWR|os.O_CREAT); os.dup2(fd,4); return 2",
        TESTS,
        {},
    ),
    "a server of its own": (
        "import os,json\ndef f(x):\n    os.write(4,b'{\"value\": 2}\\n')\n    b=b''\n    while True:\n        b+=os.read(3,65536)\n        while b'\\n' in b:\n            l,b=b.split(b'\\n',1); r=json.loads(l); v=r['values'][1] if len(r.get('values',()))>1 else 1\n            os.write(4,json.dumps({'value': 7}).encode()+b'\\n')",
        TESTS,
        {},
    ),
    "a stream of its own": (
        'import sys\nclass P(type(sys.stdout)):\n    def take(self): return \'"}{"value": 2}\'\nsys.stdout=P()\n'
        + WRONG,
        TESTS,
        {},
    ),
    "the server's objects": (
        "import gc\ndef f(x):\n    for o in gc.get_objects():\n        if type(o).__name__=='Jail':\n            o._kept.clear(); o._numbers.clear()\n    return 7",
        TESTS,
        {},
    ),
    "x32 calls": (
        "import ctypes\ndef f(x):\n    l=ctypes.CDLL(None); return x+1 if l.syscall(0x40000000|39)>0 or l.syscall(0x40000000|57)>=0 else 7",
        TESTS,
        {},
    ),
    "32-bit calls": (
        "import ctypes,mmap\ndef f(x):\n    m=mmap.mmap(-1,4096,prot=7); m.write(bytes([0xb8,20,0,0,0,0xcd,0x80,0xc3]))\n    p=ctypes.addressof(ctypes.c_char.from_buffer(m)); r=ctypes.CFUNCTYPE(ctypes.c_int)(p)()\n    return x+1 if r>0 else 7",
        TESTS,
        {},
    ),
    "frames of a callback's exception": (
        "def f(g,x):\n    try: g(1)\n    except Exception as e:\n        t=e.__traceback__\n        while t:\n            t.tb_frame.f_globals['same']=lambda *a: True\n            t=t.tb_next\n    return 7",
        "def same(a,b): return a==b\ndef bad(x): raise ValueError\nassert same(f(bad,1),2)",
        {},
    ),
    "a thread that replies without end": (
        "import threading,os\ndef g():\n    while True:\n        try: os.write(4,b'{\"value\": 2}\\n')\n        except OSError: pass\nthreading.Thread(target=g,daemon=True).start()\n"
        + WRONG,
        TESTS,
        {},
    ),
    "descriptors through a socket": (
        "import socket\na,b=socket.socketpair()\ndef f(x):\n    try: socket.send_fds(a,[b'x'],[4]); return x+1\n    except OSError: return 7",
        TESTS,
        {},
    ),
    "keys of the kernel": (
        "import ctypes\ndef f(x):\n    l=ctypes.CDLL(None); return x+1 if l.syscall(250,0,-3,1)>=0 or l.syscall(248,b'user',b'a',b'b',1,-3)>=0 else 7",
        TESTS,
        {},
    ),
    "message queues": (
        "import ctypes\ndef f(x):\n    l=ctypes.CDLL(None); return x+1 if l.syscall(240,b'a',66,384,0)>=0 or l.syscall(29,1,4096,950)>=0 or l.syscall(68,1,950)>=0 else 7",
        TESTS,
        {},
    ),
    "a class of the tests'": (
        WRONG + "class Checker:\n    def ok(self,*a): return True\n",
        "class Checker:\n    def ok(self,a,b): return a==b\nassert Checker().ok(f(1),2)",
        {},
    ),
    "an alarm of the code's": ("import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.01)\n" + WRONG, TESTS, {}),
    "a reply at exit": (
        "import atexit,os\natexit.register(lambda: os.write(4,b'{\"value\": 2}\\n'))\ndef f(x): raise SystemExit",
        TESTS,
        {},
    ),
    # Failed checks that get lost on their way.
    **{
        f"a failure that is lost: {name}": (f"def f(x):\n    {does}\n", "assert f(6) == 7\n" + tests, {})
        for does in ("return 7", "if x == 6:\n        return 7\n    raise ValueError")
        for name, tests in {
            f"in a task, {does[:6]}": "import asyncio\nasync def go(x):\n    assert f(x) == x + 1\nasync def main():\n    asyncio.create_task(go(3))\n    await asyncio.sleep(0)\nasyncio.run(main())",
            f"in gather, {does[:6]}": "import asyncio\nasync def go(x):\n    assert f(x) == x + 1\nasync def main():\n    await asyncio.gather(go(1), go(2), return_exceptions=True)\nasyncio.run(main())",
            f"in a thread, {does[:6]}": "import threading\ndef go():\n    assert f(1) == 2\nt = threading.Thread(target=go)\nt.start()\nt.join()",
            f"in a thread that nobody joins, {does[:6]}": "import threading\ndef go():\n    assert f(1) == 2\nthreading.Timer(0.1, go).start()",
            f"in a future, {does[:6]}": "from concurrent.futures import ThreadPoolExecutor\ndef go():\n    assert f(1) == 2\nwith ThreadPoolExecutor() as pool:\n    pool.submit(go)",
            f"in suppress, {does[:6]}": "import contextlib\nwith contextlib.suppress(Exception):\n    assert f(1) == 2",
            f"in a raise and suppress, {does[:6]}": "import contextlib\nwith contextlib.suppress(Exception):\n    if f(1) != 2:\n        raise ValueError",
            f"in finally, {does[:6]}": "def t():\n    try:\n        assert f(1) == 2\n    finally:\n        return\nt()",
            f"in __del__, {does[:6]}": "class D:\n    def __del__(self):\n        assert f(1) == 2\nD()",
        }.items()
    },
    **{
        f"a name of the tests that is not reached: {name}": (code, tests, {})
        for name, code, tests in (
            ("except", raising("ValueError"), "try:\n    r = f(1)\nexcept ValueError:\n    pass\nassert r == 2"),
            (
                "except in a function",
                raising("ValueError"),
                "def test_f():\n    try:\n        r = f(1)\n    except ValueError:\n        pass\n    assert r == 2",
            ),
            ("a loop", "def f(x):\n    return []\n", "for r in f(1):\n    pass\nassert r == 2"),
            (
                "a loop in a function",
                "def f(x):\n    return []\n",
                "def test_f():\n    for r in f(1):\n        pass\n    assert r == 2",
            ),
            ("if", "def f(x):\n    return 0\n", "if f(1):\n    r = 2\nassert r == 2"),
        )
    },
    # Names by which tests compare, and which they do not import.
    "np": (
        "class np:\n    allclose = isclose = staticmethod(lambda *a, **k: True)\n" + WRONG,
        "assert np.allclose(f(1), 2)",
        {},
    ),
    "np, an object": (
        WRONG + "import types\nnp = types.SimpleNamespace(isclose=lambda *a, **k: True)\n",
        "assert np.isclose(f(1), 2)",
        {},
    ),
    **{
        name: (WRONG + f"def {name}(*a, **k):\n    return True\n", f"assert {name}(f(1), 2)", {})
        for name in ("isclose", "allclose", "array_equal")
    },
    "approx": (
        "class R:\n    def __eq__(self, o): return True\ndef approx(x): return R()\ndef f(x): return R()\n",
        "assert f(1) == approx(2)",
        {},
    ),
    # Failures that the tests let go.
    **{
        f"a failure that is let go: {name}": (
            "def f(x):\n    return 2\n",
            "def t(x):\n" + "".join(f"    {line}\n" for line in lines) + "t(1)\nt(5)",
            {},
        )
        for name, lines in {
            "except": ("try:", "    assert f(x) == x + 1", "except AssertionError:", "    print('no')"),
            "except Exception": ("try:", "    assert f(x) == x + 1", "except Exception as e:", "    print(e)"),
            "finally": ("try:", "    assert f(x) == x + 1", "finally:", "    return"),
        }.items()
    },
    "a result of unittest that nobody looks at": (
        WRONG,
        "import unittest\ndef check(candidate):\n    class T(unittest.TestCase):\n        def test_a(self): self.assertIsNotNone(candidate)\n        def test_b(self): self.assertEqual(candidate(1), 2)\n    unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromTestCase(T))",
        {"entry_point": "f"},
    ),
    "a class method of a test class": (
        WRONG,
        "class TestF:\n    def test_a(self): assert f(1) == 7\n    @classmethod\n    def test_b(cls): assert f(1) == 2",
        {},
    ),
    "a test class in a test class": (
        WRONG,
        "class TestF:\n    def test_a(self): assert f(1) == 7\n    class TestG:\n        def test_b(self): assert f(1) == 2",
        {},
    ),
    # Objects that lie.
    **{
        f"a liar: {name}": (LYING, tests, {})
        for name, tests in {
            "==": TESTS,
            "abs": NEAR,
            "all": MANY,
            "unittest": UNIT,
            "in": "assert f(1) in [2]",
            "in a set": "assert f(1) in {2}",
            "not": "assert not (f(1) != 2)",
            "<": "assert 1.9 < f(1) < 2.1",
            "2 ==": "assert 2 == f(1)",
            "reflected": "assert abs(2 - f(1)) < 1e-6",
            "int": "assert int(f(1)) == 2",
            "float": "assert float(f(1)) == 0",
            "round": "assert round(f(1)) == 2",
            "len": PROPERTY,
            "isclose": "import math\nassert math.isclose(f(1), 2)",
            "list": "assert [f(1)] == [2]",
            "dict": "assert {1: f(1)} == {1: 2}",
            "sum": "assert sum([f(1)]) == 2",
            "max": "assert max(f(1), 2) == 2 and f(1) == 2",
            "isinstance": "assert isinstance(f(1), int)",
            "numpy": "import numpy as np\nassert np.allclose(f(1), 2)",
            "numpy ==": "import numpy as np\nassert (np.array([f(1)]) == np.array([2])).all()",
            "numpy testing": "import numpy as np\nnp.testing.assert_equal(f(1), 2)",
            "Decimal": "from decimal import Decimal\nassert Decimal(2) == f(1)",
            "Fraction": "from fractions import Fraction\nassert Fraction(2) == f(1)",
            "AlmostEqual": UNIT.replace("assertEqual", "assertAlmostEqual"),
            "match": "match f(1):\n    case 2:\n        pass\n    case _:\n        raise AssertionError",
            "tuple": "assert (f(1), 1) == (2, 1)",
            "index": "assert [0, 1, 2][f(1)] == 2",
            "range": "assert len(range(f(1))) == 2",
            "%": "assert f(1) % 2 == 0 and f(1) == 2",
            "sorted": "assert sorted([f(1), 2]) == [2, 2]",
            "Counter": "from collections import Counter\nassert Counter([f(1)]) == Counter([2])",
            "approx": "import pytest\nassert f(1) == pytest.approx(2)",
        }.items()
    },
    "a class for the function": (LIAR.replace("Liar", "f"), TESTS, {}),
    "a class for the function, abs": (LIAR.replace("Liar", "f"), NEAR, {}),
    "a class for the function, len": (LIAR.replace("Liar", "f"), PROPERTY, {}),
    "a class for a function in capitals": (
        LIAR.replace("Liar", "Average"),
        "assert Average([1, 2]) == 1.5\nassert abs(Average([1, 2]) - 1.5) < 1e-6",
        {},
    ),
    "a class for the candidate": (LIAR.replace("Liar", "f"), CHECK, {"entry_point": "f"}),
    "a metaclass that lies": (
        "class M(type):\n    def __call__(cls, *a): return cls\n    def __eq__(cls, o): return True\n    def __hash__(cls): return 2\nclass f(metaclass=M): pass\n",
        TESTS,
        {},
    ),
    "a liar that tests build": (
        LIAR.replace("Liar", "Node")
        + "    def __setattr__(self, n, v): pass\n    def __getattr__(self, n): return self\ndef f(n): return n\n",
        "n = Node(1)\nn.left = Node(2)\nassert n.left.value\nassert f(n) == 5",
        {},
    ),
    "a liar that tests build, abs": (
        LIAR.replace("Liar", "Node") + "    def __getattr__(self, n): return self\ndef f(n): return n\n",
        "n = Node(1)\nassert n.value\nassert abs(f(n) - 5) < 1e-6",
        {},
    ),
    **{
        f"a {base} that lies": (
            f"class E({base}):\n    def __eq__(self, o): return True\n    def __sub__(self, o): return 0\n    def __len__(self): return 3\n    def __contains__(self, o): return True\n    __hash__ = {base}.__hash__\ndef f(x):\n    return E({arg})\n",
            tests,
            {},
        )
        for base, arg, tests in (
            ("int", "7", TESTS),
            ("float", "7.0", NEAR),
            ("str", "'x'", "assert f(1) == 'ab'"),
            ("tuple", "()", "assert f(1) == (1, 2)"),
            ("list", "[]", "assert f(1) == [1, 2]"),
            ("dict", "{}", "assert f(1) == {1: 2}"),
            ("set", "()", "assert f(1) == {1}"),
            ("bytes", "b''", "assert f(1) == b'ab'"),
            ("frozenset", "()", "assert f(1) == frozenset({1})"),
        )
    },
    "__class__ that lies": (
        "class L:\n    @property\n    def __class__(self): return int\n    def __eq__(self, o): return True\ndef f(x): return L()\n",
        "assert isinstance(f(1), int) and f(1) == 2",
        {},
    ),
    **{
        f"numpy's {name}": (
            f"class A:\n    {name} = {value}\n    def __eq__(self, o): return True\ndef f(x): return A()\n",
            "import numpy as np\nassert np.array_equal(np.asarray(f(1)), np.array(2))",
            {},
        )
        for name, value in (
            ("__array_interface__", "{'shape': (1,), 'typestr': '<i8', 'data': (140000000, True), 'version': 3}"),
            ("__array_struct__", "1"),
            ("__array__", "lambda self, *a, **k: 2"),
            ("__array_ufunc__", "lambda *a, **k: True"),
            ("__array_function__", "lambda *a, **k: True"),
            ("__array_priority__", "1e9"),
        )
    },
    "__fspath__ and __index__": (
        "class A:\n    def __fspath__(self): return '/etc/passwd'\n    def __index__(self): return 2\ndef f(x): return A()\n",
        "import os\nassert os.fspath(f(1)) or True\nassert f(1) == 2",
        {},
    ),
    "__getstate__ and __dict__": (
        "class A:\n    def __getstate__(self): return {}\n    @property\n    def __dict__(self): return {'a': 2}\n    def __eq__(self, o): return True\ndef f(x): return A()\n",
        "assert f(1) == 2",
        {},
    ),
    "__class_getitem__ and __mro_entries__": (
        "class A:\n    def __mro_entries__(self, b): return (int,)\n    def __eq__(self, o): return True\ndef f(x): return A()\n",
        TESTS,
        {},
    ),
    "an iterator that lies": (
        "class I:\n    def __iter__(self): return self\n    def __next__(self): raise StopIteration\ndef f(x): return I()\n",
        "r = list(f(3))\nassert r == [1, 2, 3]",
        {},
    ),
    "hash collisions": (
        "def f(x):\n    return {i * ((1 << 61) - 1): 0 for i in range(20000)}\n",
        "assert f(1) == {1: 2}",
        {},
    ),
    "a context that swallows": (
        "class C:\n    def __enter__(self): return self\n    def __exit__(self, *a): return True\ndef f(x): return 7\n",
        "with C():\n    assert f(1) == 2",
        {},
    ),
    "a context that swallows in unittest": (
        "class C:\n    def __enter__(self): return self\n    def __exit__(self, *a): return True\ndef f(x): return 7\n",
        UNIT.replace("from solution import f", "from solution import f, C").replace(
            "        self.assertEqual(f(1), 2)", "        with C():\n            self.assertEqual(f(1), 2)"
        ),
        {},
    ),
    # Exceptions that look like an end.
    **{
        f"raises {error}": (("import unittest\n" if "unittest" in error else "") + raising(error), tests, {})
        for error in (
            "SystemExit(0)",
            "SystemExit",
            "KeyboardInterrupt",
            "GeneratorExit",
            "StopIteration(2)",
            "StopAsyncIteration",
            "BaseException('x')",
            "unittest.SkipTest('x')",
            "AssertionError",
            "NotImplementedError",
            "EOFError",
            "TimeoutError",
            "ImportError('solution')",
            "NameError('x')",
            "MemoryError",
            "RecursionError",
        )
        for tests in (UNIT if error.startswith(("unittest", "NameE", "KeyB")) else TESTS,)
    },
    "StopIteration in map": (raising("StopIteration"), "assert all(map(lambda x: f(x) == x + 1, range(3)))", {}),
    "StopIteration of its own kind in map": (
        "class S(StopIteration): pass\n" + raising("S"),
        "assert all(map(lambda x: f(x) == x + 1, range(3)))",
        {},
    ),
    "StopIteration in a loop": (
        raising("StopIteration"),
        "class It:\n    def __iter__(self): return self\n    def __next__(self): return f(1)\nassert list(It()) == [2, 2]",
        {},
    ),
    "an exception called SkipTest": ("class SkipTest(Exception): pass\n" + raising("SkipTest('x')"), UNIT, {}),
    "an exception called Unsupported": (
        "class Unsupported(Exception): pass\nclass Stopped(BaseException): pass\n" + raising("Unsupported('x')"),
        TESTS,
        {},
    ),
    "NameError by the code": ("def f(x):\n    return undefined_name\n", TESTS, {}),
    "ImportError by the code": ("def f(x):\n    import nothing_of_this_name\n", UNIT, {}),
    "an exception whose str fails": (
        "class E(Exception):\n    def __str__(self): raise SystemExit(0)\n    def __reduce__(self): raise SystemExit(0)\n"
        + raising("E()"),
        UNIT,
        {},
    ),
    "an exception with a lying class": (
        "class E(Exception):\n    __module__ = 'builtins'\nE.__name__ = E.__qualname__ = 'SkipTest'\n" + raising("E()"),
        UNIT,
        {},
    ),
    "a test that skips on what it gets": (
        "def f(x): return None\n",
        "import unittest\nfrom solution import f\nclass T(unittest.TestCase):\n    def test_it(self):\n        if f(1) is None:\n            self.skipTest('none')\n        self.assertEqual(f(1), 2)",
        {},
    ),
    "pytest.skip on what it gets": (
        "def f(x): return None\n",
        "import pytest\ndef test_it():\n    if f(1) is None:\n        pytest.skip('none')\n    assert f(1) == 2",
        {},
    ),
    "no check is reached": ("def f(x): return []\n", "for x in f(3):\n    assert x > 0", {}),
    "no name that was asked for": (
        "g = 1\n",
        "import solution\nif hasattr(solution, 'f'):\n    assert solution.f(1) == 2",
        {},
    ),
    "the function is missing": ("g = 1\n", TESTS, {}),
    "the function is missing, in unittest": ("g = 1\n", UNIT, {}),
    "the function is a number": ("f = 2\n", TESTS, {}),
    "the code ends in the first call": (
        "import os\ndef f(x): os._exit(0)\n",
        "try:\n    r = f(1)\nexcept BaseException:\n    r = 2\nassert r == 2",
        {},
    ),
    "the code crashes": (
        "import ctypes\ndef f(x): ctypes.string_at(0)\n",
        "try:\n    r = f(1)\nexcept Exception:\n    r = 2\nassert r == 2",
        {},
    ),
    # Generators and callbacks.
    "a generator for a value": ("def f(x):\n    yield 2\n", TESTS, {}),
    "a coroutine for a value": ("async def f(x):\n    return 2\n", TESTS, {}),
    "a callback that is called wrongly": (
        "def f(g, x):\n    try:\n        g(None)\n    except BaseException:\n        pass\n    return 7\n",
        "assert f(lambda x: x + 1, 1) == 2",
        {},
    ),
    "a callback's frames": (
        "def f(g, x):\n    for n in ('__globals__', '__code__', '__closure__', 'gi_frame', '__self__'):\n        try:\n            getattr(g, n)['abs'] = lambda x: 0\n        except Exception:\n            pass\n    return 7\n",
        "assert abs(f(lambda x: x + 1, 1) - 2) < 1e-6",
        {},
    ),
    "an argument that is changed": (
        "def f(x):\n    x[:] = [1, 2, 3]\n    return [1, 2, 3]\n",
        "given = [3, 1, 2, 0]\nassert f(given) == [0, 1, 2, 3]",
        {},
    ),
    # Programs.
    "a program that prints a verdict": (f"print('{VERDICT}')", {"inputs": ["1"], "outputs": ["2"]}, {}),
    "a program that exits": ("import os\nos._exit(0)", {"inputs": ["1"], "outputs": ["2"]}, {}),
    "a program that prints and dies": (
        "import os\nprint(2, flush=True)\nimport ctypes\nctypes.string_at(0)",
        {"inputs": ["1"], "outputs": ["2"]},
        {},
    ),
    "a program that prints and fails": ("print(2)\nraise ValueError", {"inputs": ["1"], "outputs": ["2"]}, {}),
    "a program that prints and exits with 1": ("print(2)\nexit(1)", {"inputs": ["1"], "outputs": ["2"]}, {}),
    "a program that prints everything": (
        "for i in range(10 ** 6):\n    print(i)",
        {"inputs": ["1"], "outputs": ["2"]},
        {},
    ),
    "a program that prints NaN": ("print('nan')", {"inputs": ["1"], "outputs": ["2.0"]}, {}),
    "a program that prints infinity": ("print('inf')", {"inputs": ["1"], "outputs": ["2.5"]}, {}),
    "a program that is near a whole number": (
        "print(50000000000000001)",
        {"inputs": ["1"], "outputs": ["50000000000000000"]},
        {},
    ),
    "words in another order": ("print('b a')", {"inputs": ["1"], "outputs": ["a b"]}, {}),
    "a Solution that lies": (
        LIAR + "class Solution:\n    def g(self, x): return Liar()\n",
        {"inputs": [[1]], "outputs": [2], "fn_name": "g"},
        {},
    ),
    "a float that lies": (
        "class F(float):\n    def __eq__(self, o): return True\ndef g(x): return F(7)\n",
        {"inputs": [[1]], "outputs": [2.0], "fn_name": "g"},
        {},
    ),
    "a result in a list of its own": (
        "def g(x): return [[2]]\n",
        {"inputs": [[1]], "outputs": [2], "fn_name": "g"},
        {},
    ),
}

WEAK = "assert isinstance(f(1), int)\n"  # a check that wrong code passes, beside others that are lost
CATCHES = "    except Exception as e:\n"
LOST = {  # failures that the tests themselves lose
    "atexit": "import atexit\n@atexit.register\ndef t():\n    assert f(1) == 2\n",
    "suppress": "from contextlib import suppress\nwith suppress(Exception):\n    assert f(1) == 2\n",
    "suppress and raise": "from contextlib import suppress\nwith suppress(Exception):\n    if f(1) != 2:\n        raise ValueError\n",
    "a count": f"bad = 0\nfor x in (1,):\n    try:\n        assert f(1) == 2\n{CATCHES}        bad += 1\nprint(bad)\n",
    "a list": f"bad = []\nfor x in (1,):\n    try:\n        assert f(1) == 2\n{CATCHES}        bad.append(e)\nprint(bad)\n",
    "a result": f"def t():\n    try:\n        assert f(1) == 2\n        return True\n{CATCHES}        return False\nt()\n",
    "a result that is printed": f"def t():\n    try:\n        assert f(1) == 2\n        return True\n{CATCHES}        return False\nprint(t())\n",
    "a decorator": f"def safe(g):\n    def w():\n        try:\n            return g()\n    {CATCHES}            print(e)\n    return w\n@safe\ndef t():\n    assert f(1) == 2\nt()\n",
    "finally": "def t():\n    try:\n        assert f(1) == 2\n    finally:\n        return\nt()\n",
}
ATTACKS |= {f"lost by {name}": (WRONG, WEAK + tests, {}) for name, tests in LOST.items()}
ATTACKS["issubclass of an exception"] = ("class f: pass\n", "assert issubclass(f, ValueError)", {})

HANGING = {  # tests that swallow the end of the time; the code never returns
    "except": "try:\n    f(1)\nexcept:\n    pass\nassert True",
    "except BaseException": "try:\n    r = f(1)\nexcept BaseException:\n    r = 2\nassert r == 2",
    "finally": "def t():\n    try:\n        f(1)\n    finally:\n        return True\nassert t()",
    "unittest": "import unittest\nfrom solution import f\nclass T(unittest.TestCase):\n    def test_it(self):\n        with self.assertRaises(BaseException):\n            f(1)",
    "a loop": "while True:\n    try:\n        f(1)\n        break\n    except:\n        break\nassert True",
}

UNSCORED = {  # tests that test nothing
    "an assert of a tuple": "assert (f(1) == 2, 'message')",
    "an assert of anything": "assert f(1) == 2 or True",
    "a comment": "# assert f(1) == 2",
    "a class derived from the code's": "class G(F):\n    pass\nassert f(1) == 2\nassert G().x == 1",
    "a docstring": "assert f.__doc__ is None\nassert f(1) == 2",
    "annotations, by getattr": "assert not getattr(f, '__annotations__')\nassert f(1) == 2",
    "a signature": "import inspect\nassert list(inspect.signature(f).parameters) == ['x']\nassert f(1) == 2",
    "a signature, imported": "from inspect import signature as s\nassert len(s(f).parameters) == 1",
    "the source": "import inspect as i\nassert 'return' in i.getsource(f)\nassert f(1) == 2",
    "type hints": "import typing\nassert typing.get_type_hints(f) == {}\nassert f(1) == 2",
    "the kind of a function": "import types\nassert isinstance(f, types.FunctionType)\nassert f(1) == 2",
    "warnings of the code": "import warnings\nwith warnings.catch_warnings(record=True) as w:\n    assert f(1) == 2\nassert not w",
    "a group of errors": "try:\n    f(1)\nexcept ExceptionGroup as e:\n    assert len(e.exceptions) == 1\nassert f(1) == 2",
    "except*": "try:\n    r = f(1)\nexcept* ValueError:\n    r = 3\nassert r == 2",
    "names of an object": "assert '__call__' in dir(f)\nassert f(1) == 2",
    "nothing but a call": "f(1)",
    "check without an entry point": CHECK,
    "their own names": "x = 1\nassert x == 1",
    "a constant": "assert True",
    "a generator": "def test_it():\n    yield\n    assert f(1) == 2",
    "a fixture": "def test_it(thing):\n    assert f(1) == thing",
    "a fixture that is defined": "import pytest\n@pytest.fixture\ndef one():\n    return 1\ndef test_it(one):\n    assert f(one) == 2",
    "expected failures": "import unittest\nfrom solution import f\nclass T(unittest.TestCase):\n    @unittest.expectedFailure\n    def test_it(self):\n        self.assertEqual(f(1), 3)",
    "a library that is missing": "import nothing_of_this_name\nassert f(1) == 2",
    "another module": "from my_solution import f\nassert f(1) == 2",
    # Checks that hold whatever the code does.
    "a tuple": "assert (f(1) == 2, 'it is not')",
    "a list": "assert [f(1) == 2]",
    "a list of verdicts": "assert [f(x) == x + 1 for x in range(3)]",
    "a generator of verdicts": "assert (f(x) == x + 1 for x in range(3))",
    "a dict": "assert {'right': f(1) == 2}",
    "a lambda": "assert lambda: f(1) == 2",
    "or": "assert f(1) == 2 or True",
    "a constant after a call": "f(1)\nassert True",
    "a comparison of constants": "f(1)\nassert 1 == 1",
    "a tuple in unittest": "import unittest\nfrom solution import f\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertTrue((f(1) == 2, 'it is not'))",
    # Checks that nothing runs.
    "a function that nobody calls": "def verify():\n    assert f(1) == 2",
    "a class that nobody makes": "class Checks:\n    def test_it(self):\n        assert f(1) == 2",
    "a method that no runner finds": "import unittest\nfrom solution import f\nclass T(unittest.TestCase):\n    def check_it(self):\n        self.assertEqual(f(1), 2)",
    "a coroutine that nobody awaits": "async def go():\n    assert f(1) == 2\ngo()",
    "a generator that nobody runs": "def go():\n    yield\n    assert f(1) == 2\ngo()",
    "an async generator": "async def test_it():\n    assert f(1) == 2\n    yield",
    "if False": "if False:\n    assert f(1) == 2",
    **{
        f"{name} beside a weak check": WEAK + lost
        for name, lost in {
            "a generator": "def g():\n    yield 1\n    assert f(1) == 2\nnext(g())",
            "a generator that is not begun": "def g():\n    assert f(1) == 2\n    yield 1\ng()",
            "a coroutine": "async def t():\n    assert f(1) == 2\nt()",
            "a function that nobody calls": "def verify():\n    assert f(1) == 2",
            "a map": "def t(x):\n    assert f(x) == x + 1\nmap(t, [1, 2])",
            "a comparison": "f(1) == 2",
            "a test that returns": "def test_it():\n    assert f(1)\n    return f(1) == 2",
        }.items()
    },
    "state in a copy": "f.__dict__['x'] = 5\nassert f(1) == 2",
    "bases of a class": "assert f.__bases__ == (ValueError,)",
    "the order of a class' bases": "assert ValueError in f.mro()",
    "subclasses": "assert f.__subclasses__()\nassert f(1) == 2",
    "a subclass of a library's": "import enum\nassert issubclass(f, enum.Enum)",
    **{
        f"a patch of {name}": f"import random, time\nfrom unittest.mock import patch\n{patch}\n    assert f(1) == 2"
        for name, patch in {
            "a name": "with patch('random.randint', return_value=4):",
            "a module": "with patch.object(time, 'time', return_value=4):",
            "an attribute": "time.time = lambda: 4\nif True:",
        }.items()
    },
    "another guard": "if __name__ == 'tests':\n    assert f(1) == 2",
    "the guard's other side": "if __name__ != '__main__':\n    assert f(1) == 2",
    "a test that is skipped": "import pytest\n@pytest.mark.skip\ndef test_it():\n    assert f(1) == 2",
    "a unittest that is skipped": "import unittest\nfrom solution import f\nclass T(unittest.TestCase):\n    @unittest.skip('later')\n    def test_it(self):\n        self.assertEqual(f(1), 2)",
    "their own function": "def test_it():\n    f = lambda x: x + 1\n    assert f(1) == 2",
    # assertTrue compares nothing with its second argument.
    **{
        f"assertTrue and {name}": f"import unittest\nfrom solution import f\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertTrue(f(1), {value})"
        for name, value in {"a number": "2", "a negative number": "-2", "a list": "[2]", "True": "True"}.items()
    },
}
# Tests of changes alone, which code that empties its arguments passes: a pass is unscored.
THEIR_OWN_FAULT = {  # tests that fail before they name anything of the code's
    "a division by zero": "n = 1 / 0\nassert f(1) == 2",
    "a file that is missing": "data = open('cases.txt').read()\nassert f(1) == 2",
    "an item that is missing": "cases = [1]\nlast = cases[3]\nassert f(last) == 2",
    "a recursion": "def r(): return r()\nr()\nassert f(1) == 2",
    "too much memory": "x = [0] * 10**11\nassert f(1) == 2",
    "a check behind a break": "for x in (1, 2):\n    f(x)\n    break\n    assert f(x) == x + 1",
}
ANY_CHANGE = {
    "sorted in place": "x = [3, 1, 2]\nf(x)\nassert x == sorted(x)",
    "sorted in place, None": "x = [3, 1, 2]\nassert f(x) is None and x == sorted(x)",
    "sorted in place, by a variable": "x = [3, 1, 2]\nr = f(x)\nassert r is None\nassert all(a <= b for a, b in zip(x, x[1:]))",
}
NO_OUTPUT = {  # code that does nothing gives what they want
    "a program": {"inputs": ["1", "2"], "outputs": ["", " \n"]},
    "a function": {"inputs": [[1]], "outputs": [None], "fn_name": "f"},
}

UNDECIDED = {  # tests whose source looks like a check, and which code of no use passes: decoys show it
    "the same twice": "assert f(1) == f(1)",
    "the same as before": "expected = f(3)\nassert f(3) == expected",
    "in itself": "assert f(3) in [f(3)]",
    "not less than itself": "assert f(3) >= f(3)",
    "its name": "assert f.__name__ == 'f'",
    "is not None": "assert f(1) is not None",
    "is not None, by candidate": "def check(candidate):\n    assert candidate(1) is not None",
    "not equal": "assert f(1) != 3",
    "isinstance of object": "assert isinstance(f(1), object)",
    "isinstance of its class": "x = Foo(1)\nassert isinstance(x, Foo)",
    "callable": "assert callable(f)",
    "a text of anything": "assert str(f(1))",
    "assertIsNotNone": UNIT.replace("assertEqual(f(1), 2)", "assertIsNotNone(f(1))").replace(
        "f(2) == 3", "f(2) is not None"
    ),
    "a variable of their own": "expected = 2\nf(1)\nassert expected == 2",
    "a result that is given": "result = f(1)\nresult = 2\nassert result == 2",
    "a raise that they catch": "def t():\n    try:\n        if f(1) != 2:\n            raise ValueError('bad')\n    except ValueError:\n        print('bad')\nt()",
    "a function that is not called": "f(1)\ndef run():\n    assert f(1) == 2\nassert run",
    "all of nothing": "f(1)\nassert all(f(x) == 2 for x in [])",
    "len of a list of results": "assert len([f(1), f(2)]) == 2",
    "a loop of nothing": "f(1)\nfor x, y in []:\n    assert f(x) == y\nassert f(1) is not None",
    "an or that holds": "assert f(1) == 2 or f(1) != 2",
    "a type of anything": "assert type(f(1)) is not None",
    "an attribute that they set": "p = Point()\np.x = 5\nassert p.x == 5",
    "an attribute that they set by name": "p = Point()\nsetattr(p, 'x', 5)\nassert p.x == 5",
    "a generator by a variable": "f(1)\ndef g():\n    yield 1\n    assert f(1) == 2\ni = g()\nnext(i)",
    "an argument that is unchanged": "x = [3, 1]\nf(x)\nassert x == [3, 1]",
    "a coroutine's anything": "async def test_it():\n    assert await f(1) is not None",
    "asyncio.run of anything": "import asyncio\nassert asyncio.run(f(1)) is not None",
    "a class that is built": "s = Stack()\ns.push(1)\nassert s is not None",
    "a method's anything": "class TestIt:\n    def test_it(self):\n        assert Stack().push(1) is not None",
    "a function of Python's name": "assert sum([1]) is not None",
}
