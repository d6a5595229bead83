"""Protections of a process that Linux offers and Python does not, through the C library."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from typing import Any

PR_SET_DUMPABLE = 4


@cache
def libc() -> Any:
    """Return the C library."""
    return ctypes.CDLL(None, use_errno=True)


def prctl(option: int, value: int = 0, more: int = 0) -> int:
    """Change a property of this process (prctl(2)). Raises OSError."""
    words = [ctypes.c_ulong(each) for each in (value, more, 0, 0)]
    return checked(libc().prctl(option, *words))


def syscall(number: int, *arguments: int | bytes | None) -> int:
    """Make a system call of the kernel that the C library has no function for. Raises OSError."""
    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return checked(libc().syscall(ctypes.c_long(number), *words))


def checked(status: int) -> int:
    """Return the status of a function of the C library. Raises OSError if it reports an error."""
    if status < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return status


def forbid_inspection() -> None:
    """Keep this process's memory and environment from other processes of the same account.

    They hold keys. Neither can be read in /proc or by a debugger any more, and a crash writes no
    core dump; root still can. Processes forked from this one inherit it; a program that is started
    does not. Systems other than Linux are left as they are.
    """
    if sys.platform == "linux":
        prctl(PR_SET_DUMPABLE, 0)
