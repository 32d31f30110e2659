"""What code does to files: ``TRUNCATIONS`` of a file outside its folder, and what it leaves in its own (``LEFTOVERS``).

One entry each. A truncation is a statement in which ``path`` is the user's file, ``os`` and ``libc`` are at hand, and
``call(number, ...)`` makes a system call. A leftover is code that runs in the folder.
"""

# ruff: noqa: E501 - programs on one line each

TRUNCATIONS = {
    "open w": "open(path, 'w')",
    "open wb+": "open(path, 'wb+')",
    "open r+ and truncate": "open(path, 'r+').truncate(0)",
    "os.truncate": "os.truncate(path, 0)",
    "truncate": "call(76, path.encode(), 0)",
    "creat": "call(85, path.encode(), 0o600)",
    "O_RDONLY": "os.open(path, os.O_RDONLY | os.O_TRUNC)",
    "O_WRONLY": "os.open(path, os.O_WRONLY | os.O_TRUNC)",
    "O_RDWR": "os.open(path, os.O_RDWR | os.O_TRUNC)",
    "access mode 3": "os.open(path, 3 | os.O_TRUNC)",
    "access mode 3, not blocking": "os.open(path, 3 | os.O_TRUNC | os.O_NONBLOCK | os.O_NOFOLLOW)",
    "O_PATH": "os.truncate(os.open(path, os.O_PATH | os.O_TRUNC), 0)",
    "O_CREAT": "os.open(path, 3 | os.O_CREAT | os.O_TRUNC)",
    "system call open": "call(2, path.encode(), 3 | os.O_TRUNC, 0)",
    "high half of the flags": "call(257, -100, path.encode(), ctypes.c_uint64(1 << 32 | 3 | os.O_TRUNC), 0)",
    "number of x32": "call(0x40000002, path.encode(), 3 | os.O_TRUNC, 0)",
    "openat2": "call(437, -100, path.encode(), struct.pack('QQQ', 3 | os.O_TRUNC, 0, 0), ctypes.c_size_t(24))",
    "by a link": "os.symlink(path, 'link'); os.open('link', 3 | os.O_TRUNC)",
    "by a link, truncate": "os.symlink(path, 'link2'); os.truncate('link2', 0)",
    "by a hard link": "os.link(path, 'hard'); open('hard', 'w')",
    "by /proc": "os.truncate(f'/proc/self/fd/{os.open(path, os.O_PATH)}', 0)",
    "fallocate": "call(285, os.open(path, os.O_RDONLY), 3, 0, 5)",
    "remove": "os.remove(path)",
    "replace": "open('new', 'x').close(); os.replace('new', path)",
    "remount": "call(165, None, b'/', None, 32 | 4096, None); open(path, 'w')",
    "mount_setattr": "call(442, -100, b'/', 0x8000, struct.pack('QQQQ', 0, 1, 0, 0), ctypes.c_size_t(32)); open(path, 'w')",
}

SUPPRESS = "import contextlib, os\nwith contextlib.suppress(OSError):\n"
NESTED = "import os\nfor _ in range({depth}):\n    os.mkdir('{name}'{mode})\n    os.chdir('{name}')\n"
LEFTOVERS = {
    "nested folders": NESTED.format(depth=3000, name="d", mode=""),
    "nested folders of long names": NESTED.format(depth=3000, name="d" * 255, mode=""),
    "folders side by side": "import os\nfor i in range(3000):\n    os.makedirs(f'{i}/a/b')\n",
    "files": "for i in range(5000):\n    open(f'{i}', 'w').close()\n",
    "files of long names": "for i in range(3000):\n    open(f'{i:0255}', 'w').close()\n",
    "folders of mode 0": "import os\nfor i in range(100):\n    os.mkdir(f'{i}', 0)\n",
    "a mask of 0777": "import os\nos.umask(0o777)\nfor i in range(100):\n    os.mkdir(f'{i}')\n    open(f'f{i}', 'w').close()\n",
    "links": SUPPRESS
    + "    os.symlink('/', 'a')\n    os.symlink('.', 'b')\n    os.symlink('nowhere', 'c')\n    os.mkdir('d')\n    os.symlink('/usr', 'd/e')\n",
    "names of no text": "import os\nfor i in range(128, 256):\n    os.mkdir(bytes([i]))\n    os.mkdir(bytes([i]) + b'/\\n')\n",
    "pipes and holes": SUPPRESS + "    open('h', 'wb').truncate(8 << 20)\n    os.mkfifo('p')\n",
    "nested, with files": "import os\nfor i in range(1500):\n    open('f', 'w').close()\n    os.mkdir('d')\n    os.mkdir('e')\n    os.chdir('d')\n",
}
