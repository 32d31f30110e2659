"""What the tests of a hostile data set write to every descriptor that they have: their own sample only may suffer.

``VICTIM`` is the process id of a process outside. One entry each; ``LINES`` are bytes (``%d``: the victim), written by
tests and, alone, as answers to a question of yes or no. None of them may count as a right answer. ``ACTIONS`` are
statements of tests, which have ``write``. No process but the victim is aimed at: were one believed, it would end.
"""

WRITE = """
import os, signal, sys, threading, time
def write(data, descriptors=range(64)):
    for descriptor in descriptors:
        try:
            os.set_blocking(descriptor, False)
            os.write(descriptor, data)
        except OSError:
            pass
"""
PASSED = b'{"value": {"passed": true, "timeout": false, "reason": ""}}'

LINES = {
    "a process id": b'{"pid": %d}\n',
    "a process id twice": b'{"pid": %d}\n{"pid": %d}\n',
    "a process id and a verdict": b'{"pid": %d}\n' + PASSED + b"\n",
    "a verdict and a process id": PASSED + b'\n{"pid": %d}\n',
    "a process id beside a verdict": b'{"pid": %d, ' + PASSED[1:] + b"\n",
    "a group of processes": b'{"pid": -%d}\n',
    "a process id as text": b'{"pid": "%d"}\n',
    "a verdict of the question 1": b'{"id": 1, ' + PASSED[1:] + b"\n",
    "verdicts of the next questions": b"".join(b'{"id": %d, "value": true}\n' % i for i in range(2, 50)),
    "two verdicts": 2 * (PASSED + b"\n"),
    "two answers of yes": b'{"value": true}\n{"value": true}\n',
    "a line end before": b"\n" + PASSED + b"\n",
    "a line end after": PASSED + b"\n\n",
    "half a verdict": PASSED[:30],
    "a verdict without its line end": PASSED,
    "half a verdict, a line": PASSED[:30] + b"\n",
    "an empty line": b"\n",
    "an empty object": b"{}\n",
    "a list": b'[{"value": true}]\n',
    "a bare true": b"true\n",
    "1 for true": b'{"value": 1}\n',
    "a text for true": b'{"value": "true"}\n',
    "passed is 1": b'{"value": {"passed": 1, "timeout": false, "reason": ""}}\n',
    "passed and out of time": b'{"value": {"passed": true, "timeout": true, "reason": ""}}\n',
    "a verdict with more": b'{"value": {"passed": true, "timeout": false, "reason": "", "score": 9}}\n',
    "a verdict with less": b'{"value": {"passed": true}}\n',
    "a reason that is no text": b'{"value": {"passed": true, "timeout": false, "reason": null}}\n',
    "a reason of 10,000 characters": PASSED[:-3] + b"x" * 10_000 + b'"}}\n',
    "a reason for the terminal": PASSED[:-3] + b'\\u001b]0;owned\\u0007"}}\n',
    "a verdict and an error": b'{"error": "no", "value": true}\n',
    "an error that is a number": b'{"error": 7}\n',
    "an error for the terminal": b'{"error": "\\u001b[2J"}\n',
    "half a character": b'{"error": "\\ud800"}\n',
    "late, as the server says it": b'{"late": true}\n',
    "no UTF-8": b'\xff\xfe\x00{"value": true}\n',
    "bytes of all kinds": bytes(range(256)),
    "zeros": bytes(4096),
    "a frame": b"\x01" + bytes(15) + b"\x0f\x00\x00\x00" + b'{"value": true}',
    "a line end in a frame": b"\x01" + bytes(15) + b"\x10\x00\x00\x00" + b'{"value": true}\n',
    "JSON nested 8,000 deep": b"[" * 8_000 + b"]" * 8_000 + b"\n",
    "objects nested 2,000 deep": b'{"value":' * 1_500 + b"1" + b"}" * 1_500 + b"\n",
    "an integer of 10,000 digits": b'{"value": ' + b"9" * 10_000 + b"}\n",
    "an exponent": b'{"value": 1e999}\n',
    "NaN": b'{"value": NaN}\n',
    "one byte too long": PASSED[:-1] + b" " * 16_384 + b"}\n",
    "64 KiB": b"x" * 65_536,
}

ACTIONS = {
    "endless lines": "while True: write(b'{\"pid\": %d}\\n' % VICTIM)",
    "an endless line": "while True: write(b'x' * 4096)",
    "a byte at a time": "while True:\n    write(b' ')\n    time.sleep(0.01)",
    "nothing": "os._exit(0)",
    "nothing, and an error": "os._exit(1)",
    "no server": "os._exit(3)",
    "all descriptors closed": "os.closerange(0, 64)",
    "all descriptors closed, and a wait": "os.closerange(0, 64)\nwhile True: pass",
    "descriptors exchanged": "for a in range(3, 60):\n    try: os.dup2(a, 1)\n    except OSError: pass",
    "no alarm": "signal.signal(signal.SIGALRM, signal.SIG_IGN)\nwrite(b'{\"pid\": %d}\\n' % VICTIM)\nwhile True: pass",
    "no alarm and no timer": "signal.setitimer(signal.ITIMER_REAL, 0)\nwhile True: pass",
    "a process id and out of time": "write(b'{\"pid\": %d}\\n' % VICTIM)\nwhile True: pass",
    "a thread that writes on": (
        "def w():\n    while True: write(b'{\"pid\": %d}\\n' % VICTIM)\nthreading.Thread(target=w).start()"
    ),
    "at the exit": "import atexit\natexit.register(write, b'{\"pid\": %d}\\n' % VICTIM)\nsys.exit(1)",
    "a signal to the victim": "os.kill(VICTIM, signal.SIGKILL)",
    "a signal to the server": "os.kill(os.getppid(), signal.SIGKILL)",
    "a signal to a group": "os.killpg(VICTIM, signal.SIGKILL)",
    "a pidfd": "import ctypes\nctypes.CDLL(None).syscall(434, VICTIM, 0)\nos._exit(0)",
    "a crash": "import ctypes\nctypes.string_at(0)",
    "much memory": "hog = []\nwhile True: hog.append(bytearray(1 << 24))",
    "deep recursion": "sys.setrecursionlimit(10**9)\ndef g(): g()\ng()",
    "all that comes is read": (
        "while True:\n    for d in range(64):\n        try: os.set_blocking(d, False); os.read(d, 9999)\n"
        "        except OSError: pass"
    ),
}
