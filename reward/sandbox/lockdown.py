"""What a process gives up before it runs a stranger's code. x86-64 Linux; standard library only.

In this order, by the kernel's own interfaces, none of which needs root:

- namespaces (``try_isolate``, where the kernel permits): no network device, no process in sight, System V IPC of its
  own, all mounts are read-only but the temporary folder, a tmpfs of 16 MiB. Where it does not permit (as in Docker),
  the filter below still denies sockets and signals, and the folder is on disk with a limit for each file only.
- rlimits: address space, CPU seconds, file size, open files, threads. The kernel counts no threads of root, so root
  changes its real user id first; the effective one stays, and files can be read as before.
- capabilities: none, for root as well.
- Landlock: the temporary folder can be written; the interpreter and system libraries can be read; nothing else.
- seccomp: an allow-list. No fork, no exec, no signal to anybody, no socket, no ptrace; threads are allowed. Landlock
  holds truncation since ABI 3 (Linux 6.2); before, the filter denies what truncates without a right to write.

Without Landlock or seccomp there is no sandbox: ``LockdownError``, and no code runs.
"""

import _thread
import contextlib
import ctypes
import functools
import os
import platform
import resource
import struct

MEMORY = 1 << 30  # bytes of address space
FILE = 8 << 20  # bytes of one file
FOLDER = "16m"  # the temporary folder, where it is a tmpfs
OPEN_FILES = 64
THREADS = 64
M_ARENA_MAX = -8
# Ids that no account has: the first, how many. Containers with user ids of their own often map 65,536 of them.
REAL_USERS = ((0x70000000, 1 << 24), (61184, 4336))

EPERM, ENOSYS = 1, 38
NEWNS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
CLONE_THREAD, CLONE_NEW_ANY = 0x10000, 0x7E020080
MS_NOSUID_NODEV_NOEXEC, MS_REC_PRIVATE = 2 | 4 | 8, 0x44000
MOUNT_ATTR_RDONLY, AT_FDCWD, AT_RECURSIVE = 1, -100, 0x8000
TRUNCATE_SINCE = 3  # Landlock ABI
AUDIT_ARCH_X86_64 = 0xC000003E

# System calls of x86-64 that the interpreter and pure code need (arch/x86/entry/syscalls/syscall_64.tbl).
ALLOWED = (
    *range(0, 16),  # read write open close stat fstat lstat poll lseek mmap mprotect munmap brk rt_sig*
    *range(17, 25),  # pread64 pwrite64 readv writev access pipe select sched_yield
    *(25, 26, 27, 28, 32, 33, 34, 35, 36, 37, 38, 39, 40, 60),  # mremap msync mincore madvise dup* pause ... exit
    *(63, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 87, 89, 95, 96, 97, 98, 99, 100),  # uname fsync ... times
    *(102, 104, 107, 108, 110, 111, 131, 137, 138, 186, 191, 192, 201, 202, 204, 217, 218),  # getuid ... gettid futex
    *(228, 229, 230, 231, 232, 233, 257, 258, 262, 263, 264, 267, 269, 270, 271, 273, 274, 281, 290, 291, 293),
    *(316, 318, 324, 332, 334, 435, 436, 439, 441),  # renameat2 getrandom membarrier statx rseq close_range
)
ARGUMENT_LISTS = {  # system call -> for each argument that is looked at: which, and its only values
    72: ((1, (0, 1, 2, 3, 4, 5, 6, 7, 1030)),),  # fcntl: not F_SETOWN, F_SETSIG
    16: ((1, (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)),),  # ioctl: terminal size, FIONREAD, close on exec
    302: ((0, (0,)),),  # prlimit64: of this process only
    # asyncio's own pipe: socketpair(AF_UNIX, SOCK_STREAM), which no address can redirect; sendto, recvfrom: no MSG_OOB
    53: ((0, (1,)), (1, (1, 0x801, 0x80001, 0x80801))),
    44: ((3, (0, 0x4000)),),
    45: ((3, (0,)),),
}
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 22, 38
CLONE, CLONE3, TRUNCATE, OPENAT2 = 56, 435, 76, 437
OPEN_FLAGS = {2: 1, 257: 2}  # open, openat -> which argument

_libc = ctypes.CDLL(None, use_errno=True)


class LockdownError(OSError):
    """This machine cannot hold a stranger's code; the message says what is missing."""


def _call(what: str, result: int) -> int:
    if result < 0:
        raise LockdownError(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def try_isolate(folder: str) -> bool:
    """Move the children of this process into namespaces of their own; return whether the kernel permits it."""
    _change_real_user()  # here, as a user namespace of one user has no other
    flags = NEWPID | NEWNET | NEWIPC | NEWNS
    user, group = os.geteuid(), os.getegid()
    if _libc.unshare(flags):
        if _libc.unshare(flags | NEWUSER):
            return False
        for name, line in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123
                file.write(line)
    if _libc.mount(b"none", b"/", None, ctypes.c_ulong(MS_REC_PRIVATE), None) == 0:
        options = f"size={FOLDER},nr_inodes=1k,mode=777".encode()
        where = folder.encode()
        if _libc.mount(b"tmpfs", where, b"tmpfs", ctypes.c_ulong(MS_NOSUID_NODEV_NOEXEC), options) == 0:
            _set_mounts(b"/", AT_RECURSIVE, MOUNT_ATTR_RDONLY, 0)
            _set_mounts(where, 0, 0, MOUNT_ATTR_RDONLY)
    return True


def _set_mounts(path: bytes, flags: int, add: int, clear: int) -> None:
    """Call mount_setattr (Linux 5.12)."""
    attributes = struct.pack("QQQQ", add, clear, 0, 0)
    _libc.syscall(442, AT_FDCWD, path, flags, attributes, ctypes.c_size_t(len(attributes)))


def _change_real_user() -> None:
    """Give root a real user id of its own, to which RLIMIT_NPROC applies; ``setresuid`` is not on the allow-list."""
    for first, number in REAL_USERS:
        if os.getuid() == 0:
            with contextlib.suppress(OSError):  # no CAP_SETUID, or an id that this user namespace does not map
                os.setresuid(first + int.from_bytes(os.urandom(4), "big") % number, -1, -1)


def _require_thread_limit() -> None:
    """Refuse a root whose threads the kernel does not count; with no capability left, it shows by trying.

    Raises:
        LockdownError: a thread started in spite of the limit.
    """
    limits = resource.getrlimit(resource.RLIMIT_NPROC)
    resource.setrlimit(resource.RLIMIT_NPROC, (1, limits[1]))
    with contextlib.suppress(RuntimeError):
        _thread.start_new_thread(int, ())
        raise LockdownError("the threads of root cannot be limited here: use another user, or grant CAP_SETUID")
    resource.setrlimit(resource.RLIMIT_NPROC, limits)


def prepare() -> None:
    """Work out once, before a server forks, what all of its children need."""
    if _abi() >= 0:
        _filter(_abi())


def _abi() -> int:
    """Return the kernel's version of Landlock; negative where it has none."""
    return int(_libc.syscall(444, None, ctypes.c_size_t(0), 1))


def lock(folder: str, readable: list[str], seconds: float, scope_signals: bool = True, newest_abi: int = 99) -> None:
    """Give up everything but what the module's docstring lists.

    Args:
        folder: the one that stays writable.
        readable: folders and files that stay readable.
        seconds: of CPU time.
        scope_signals: let Landlock deny signals too. Not for a process whose death is to end its child: Landlock
            would deny the kernel's own signal (``die_with_parent``) to a child that it does not hold.
        newest_abi: of Landlock, to be used; a test acts as an older kernel.

    Raises:
        LockdownError: the kernel lacks Landlock or seccomp, cannot limit threads, or the machine is not x86-64.
    """
    if platform.machine() != "x86_64":
        raise LockdownError(f"the seccomp filter is for x86_64, and this is {platform.machine()}")
    _change_real_user()
    with contextlib.suppress(AttributeError):  # a C library without arenas
        _libc.mallopt(M_ARENA_MAX, 2)  # glibc's 8 a core, of 64 MiB each, would leave 20 threads no address space
    cpu = int(seconds) + 1
    for what, limit in (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_FSIZE, FILE),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_NPROC, THREADS),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(what)[1]
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(what, (limit, limit))
    _call("prctl(PR_SET_NO_NEW_PRIVS)", _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _libc.capset(struct.pack("Ii", 0x20080522, 0), bytes(24))
    if os.getuid() == 0:
        _require_thread_limit()
    abi = min(newest_abi, _abi())
    _landlock(folder, readable, scope_signals, abi)
    _seccomp(abi)


def _landlock(folder: str, readable: list[str], scope_signals: bool, version: int) -> None:
    """Restrict the file system; see the kernel's Documentation/userspace-api/landlock.rst."""
    if version < 1:
        raise LockdownError("the kernel has no Landlock (Linux 5.13 or later, with landlock among its LSMs)")
    known = 13 + (version >= 2) + (version >= TRUNCATE_SINCE) + (version >= 5)
    everything = (1 << known) - 1
    read, read_write = 0b1100, everything & ~1  # read files and folders; all but execute
    on_files = 0b0110 | (1 << 14 if version >= TRUNCATE_SINCE else 0)
    scopes = (1 | 2 * scope_signals) if version >= 6 else 0  # abstract sockets, signals
    attributes = struct.pack("QQQ", everything, 3 if version >= 4 else 0, scopes)
    size = 8 if version < 4 else 16 if version < 6 else 24
    rules = _call("landlock_create_ruleset", _libc.syscall(444, attributes, ctypes.c_size_t(size), 0))
    for path, access in [(folder, read_write), ("/dev/null", 0b0110), *((path, read) for path in readable)]:
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # /lib64 is not everywhere
        if not os.path.isdir(path):  # noqa: PTH112 - pathlib would cost a millisecond
            access &= on_files
        _call("landlock_add_rule", _libc.syscall(445, rules, 1, struct.pack("=Qi", access, descriptor), 0))
        os.close(descriptor)
    _call("landlock_restrict_self", _libc.syscall(446, rules, 0))
    os.close(rules)


def _seccomp(abi: int) -> None:
    """Install the filter: classic BPF over ``struct seccomp_data`` (number, architecture, address, arguments)."""
    program = _filter(abi)
    block = ctypes.create_string_buffer(program)
    fprog = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(block))
    _call("prctl(PR_SET_SECCOMP)", _libc.prctl(PR_SET_SECCOMP, 2, fprog, 0, 0))


@functools.cache
def _filter(abi: int) -> bytes:
    load, equal, any_bit, give, bits = 0x20, 0x15, 0x45, 0x06, 0x54
    allow, deny, absent = 0x7FFF0000, 0x00050000 | EPERM, 0x00050000 | ENOSYS
    code = [(load, 0, 0, 4), (equal, 1, 0, AUDIT_ARCH_X86_64), (give, 0, 0, deny), (load, 0, 0, 0)]
    for number in (CLONE3, OPENAT2):  # their flags are out of sight; libc goes on with clone, openat
        code += [(equal, 0, 1, number), (give, 0, 0, absent)]
    code += [(equal, 0, 5, CLONE), (load, 0, 0, 16)]
    code += [(any_bit, 1, 0, CLONE_NEW_ANY), (any_bit, 1, 0, CLONE_THREAD), (give, 0, 0, deny), (give, 0, 0, allow)]
    # Opening for writing needs a right of Landlock's, and comes before truncation. The access modes 0 (read) and 3 (no
    # access, a mode for devices) truncate as well and need no such right.
    for number, argument in OPEN_FLAGS.items():
        code += [(equal, 0, 7, number), (load, 0, 0, 16 + 8 * argument), (any_bit, 0, 4, os.O_TRUNC)]
        code += [(bits, 0, 0, os.O_ACCMODE), (equal, 2, 0, os.O_WRONLY), (equal, 1, 0, os.O_RDWR)]
        code += [(give, 0, 0, deny), (give, 0, 0, allow)]
    for number, conditions in ARGUMENT_LISTS.items():
        block = []
        for argument, values in conditions:
            block.append((load, 0, 0, 16 + 8 * argument))
            block += [(equal, len(values) - i, 0, value) for i, value in enumerate(values)]
            block.append((give, 0, 0, deny))
        code += [(equal, 0, len(block) + 1, number), *block, (give, 0, 0, allow)]
    truncate = {TRUNCATE} if abi < TRUNCATE_SINCE else set()
    for number in sorted(set(ALLOWED) - {CLONE, CLONE3, *OPEN_FLAGS, *ARGUMENT_LISTS} - truncate):
        code += [(equal, 0, 1, number), (give, 0, 0, allow)]
    code.append((give, 0, 0, deny))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in code)
