"""Seccomp: a filter of the system calls that a process may still make.

The filter is a list of what reading files takes: memory, threads, files, clocks. Every other call,
those of later kernels included, fails with ENOSYS, as on a kernel that does not have it, and
libraries fall back on older calls. So there are no sockets, no new programs and processes, no
signals to and no control of others, no shared memory, and no change of modes, owners or links.

The kernel runs the filter, a program for its classic BPF machine, before each call. It sees the
call's number and arguments, but not what pointers point to: which files may be opened is up to
`landlock`. See <https://docs.kernel.org/userspace-api/seccomp_filter.html>.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from dataclasses import dataclass

from dpgeo.core.linux import prctl

PR_GET_SECCOMP, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 21, 22, 2
ALLOW, KILL_PROCESS, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
LOAD, JUMP_IF_EQUAL, AND, RETURN = 0x20, 0x15, 0x54, 0x06
"""Instructions of the machine: load a word of the call, compare, mask, and return the verdict."""

NUMBER_AT, PROCESSOR_AT, ARGUMENTS_AT = 0, 4, 16
"""Places in the description of a call (struct seccomp_data)."""


@dataclass(frozen=True)
class Processor:
    """A kind of processor: its code in the kernel, and the column of its numbers in `CALLS`."""

    code: int
    column: int


PROCESSORS = {"x86_64": Processor(0xC000003E, 0), "aarch64": Processor(0xC00000B7, 1)}

CALLS: dict[str, tuple[int | None, int | None]] = {
    # Files. The first numbers are those of x86_64, the second those of aarch64.
    "read": (0, 63),
    "write": (1, 64),
    "readv": (19, 65),
    "writev": (20, 66),
    "pread64": (17, 67),
    "pwrite64": (18, 68),
    "preadv": (295, 69),
    "pwritev": (296, 70),
    "close": (3, 57),
    "close_range": (436, 436),
    "lseek": (8, 62),
    "stat": (4, None),
    "lstat": (6, None),
    "fstat": (5, 80),
    "newfstatat": (262, 79),
    "statx": (332, 291),
    "statfs": (137, 43),
    "fstatfs": (138, 44),
    "access": (21, None),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "readlink": (89, None),
    "readlinkat": (267, 78),
    "getdents64": (217, 61),
    "getcwd": (79, 17),
    "dup": (32, 23),
    "dup2": (33, None),
    "dup3": (292, 24),
    "pipe2": (293, 59),
    "eventfd2": (290, 19),
    "flock": (73, 32),
    "fsync": (74, 82),
    "fdatasync": (75, 83),
    "ftruncate": (77, 46),
    "fallocate": (285, 47),
    "fadvise64": (221, 223),
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "umask": (95, 166),
    "poll": (7, None),
    "ppoll": (271, 73),
    "select": (23, None),
    "pselect6": (270, 72),
    "epoll_create1": (291, 20),
    "epoll_ctl": (233, 21),
    "epoll_wait": (232, None),
    "epoll_pwait": (281, 22),
    # Memory.
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "msync": (26, 227),
    "brk": (12, 214),
    # Threads and the process itself.
    "futex": (202, 98),
    "set_robust_list": (273, 99),
    "rseq": (334, 293),
    "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123),
    "getcpu": (309, 168),
    "exit": (60, 93),
    "exit_group": (231, 94),
    "restart_syscall": (219, 128),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132),
    "getpid": (39, 172),
    "gettid": (186, 178),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "getrusage": (98, 165),
    "getrandom": (318, 278),
    "uname": (63, 160),
    "sysinfo": (99, 179),
    # Clocks.
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "nanosleep": (35, 101),
    "gettimeofday": (96, 169),
    "time": (201, None),
}
"""Calls that are allowed with any arguments."""

O_TRUNC, O_ACCMODE = 0o1000, 0o3
OPENED = (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_WRONLY | O_TRUNC, os.O_RDWR | O_TRUNC)
"""Ways to open a file, by these two flags; all but emptying a file that is opened to be read.

Before its version 3, in Linux 6.2, Landlock does not see that such a file is changed, so the upload
and the programs could be emptied.
"""

THREAD, NAMESPACES = 0x00010000, 0x7E020000
"""Flags of `clone`: a thread of this process, and what would give it its own view of the system."""


@dataclass(frozen=True)
class Condition:
    """A call that is allowed if one of its arguments, after masking, has one of some values.

    Otherwise it fails with the error `refusal`. The kernel ignores the upper half of each of these
    arguments, and so does the filter.
    """

    numbers: tuple[int | None, int | None]
    argument: int
    values: tuple[int, ...]
    mask: int = 0xFFFFFFFF
    refusal: int = errno.EPERM


def conditions() -> dict[str, Condition]:
    """Return the calls that are allowed with certain arguments only."""
    return {
        "open": Condition((2, None), 1, OPENED, O_TRUNC | O_ACCMODE),
        "openat": Condition((257, 56), 2, OPENED, O_TRUNC | O_ACCMODE),
        "clone": Condition((56, 220), 0, (THREAD,), THREAD | NAMESPACES),
        # Signals to this process alone, for `abort`.
        "tgkill": Condition((234, 131), 0, (os.getpid(),)),
        # Its own limits, which it may only lower.
        "prlimit64": Condition((302, 261), 0, (0,)),
        # F_SETOWN would make the kernel send signals to others: only descriptors, flags and locks.
        "fcntl": Condition((72, 25), 1, (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030)),
        # TCGETS, by which programs ask whether a file is a terminal, and FIOCLEX and FIONCLEX.
        "ioctl": Condition((16, 29), 1, (0x5401, 0x5451, 0x5450), refusal=errno.ENOTTY),
        # Names of threads (PR_SET_NAME) and of memory (PR_SET_VMA).
        "prctl": Condition((157, 167), 0, (15, 0x53564D41)),
    }


def has_seccomp() -> bool:
    """Return whether the kernel filters calls, and this processor's numbers are in `CALLS`."""
    if _processor() is None:
        return False
    try:
        # Without a filter to install, a kernel that has filters reports a bad address.
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER)
    except OSError as error:
        return error.errno == errno.EFAULT
    return False


def restrict_calls() -> None:
    """Refuse this thread, and those it starts, all system calls but those listed here.

    The process must have given up gaining privileges (`no_new_privs`). Raises OSError.
    """
    processor = _processor()
    if processor is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    program = filter_program(processor)
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    place = ctypes.create_string_buffer(header, len(header))
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(place))


def filter_program(processor: Processor) -> bytes:
    """Return the filter as a program of the BPF machine."""
    # The numbers of another kind of processor, such as 32-bit x86, would mean other calls.
    program = _load(PROCESSOR_AT) + _jump(processor.code, then=1) + _return(KILL_PROCESS)
    program += _load(NUMBER_AT)
    for numbers in CALLS.values():
        if (number := numbers[processor.column]) is not None:
            program += _jump(number, otherwise=1) + _return(ALLOW)
    for call in conditions().values():
        if (number := call.numbers[processor.column]) is not None:
            checks = _load(ARGUMENTS_AT + 8 * call.argument) + _instruction(AND, call.mask)
            for value in call.values:
                checks += _jump(value, otherwise=1) + _return(ALLOW)
            checks += _return(ERRNO | call.refusal)
            program += _jump(number, otherwise=len(checks) // 8) + checks
    return program + _return(ERRNO | errno.ENOSYS)


def _instruction(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, then, otherwise, value)


def _load(place: int) -> bytes:
    return _instruction(LOAD, place)


def _jump(value: int, then: int = 0, otherwise: int = 0) -> bytes:
    """Skip instructions: `then` many if the loaded word is `value`, else `otherwise` many."""
    return _instruction(JUMP_IF_EQUAL, value, then, otherwise)


def _return(verdict: int) -> bytes:
    return _instruction(RETURN, verdict)


def _processor() -> Processor | None:
    """Return this process's kind of processor, or None if its calls are not known here."""
    wide = ctypes.sizeof(ctypes.c_void_p) == 8
    return PROCESSORS.get(platform.machine()) if wide else None
