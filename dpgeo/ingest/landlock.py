"""Landlock: rules of the Linux kernel by which a process gives up access to files and networks.

See <https://docs.kernel.org/userspace-api/landlock.html>. A rule names a file or a folder and what
may be done beneath it; everything else that Landlock governs is refused. It does not govern changes
of modes, owners, times and attributes, nor reading those, nor in its first two versions emptying a
file that may be read; `seccomp` refuses the changes.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

from dpgeo.core.linux import syscall

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""Numbers of the system calls, the same on all processors."""

WRITE_FILE, READ_FILE, READ_DIR, REMOVE_FILE, MAKE_REG, TRUNCATE = (
    1 << bit for bit in (1, 2, 3, 5, 8, 14)
)
READ = READ_FILE | READ_DIR
WRITE = READ | WRITE_FILE | TRUNCATE | MAKE_REG | REMOVE_FILE
"""Rights to read files and list folders, and besides to make, write, rename and delete files.

No right is given to run programs, nor to make links, folders, sockets, pipes or devices.
"""

FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}
"""Number of rights on files that the kernel governs, from each version of Landlock on."""

TCP_VERSION, SCOPE_VERSION = 4, 6
"""Versions of Landlock from which it refuses TCP, and signals and abstract sockets of others."""

BIND_AND_CONNECT = SIGNALS_AND_SOCKETS = 0b11


def landlock_version() -> int:
    """Return the version of Landlock's interface that the kernel offers, 0 if it offers none."""
    try:
        return syscall(CREATE_RULESET, None, 0, 1)
    except OSError as error:
        # Containers may forbid the call: older versions of Docker answer with EPERM.
        if error.errno in (errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM):
            return 0
        raise


def restrict_files(rules: Mapping[int, Iterable[Path]]) -> None:
    """Refuse this thread every access to files but those in `rules`, and TCP as a whole.

    `rules` are paths by the rights beneath them; paths that do not exist are passed over. Threads
    that run already are not restricted. Raises OSError, also where the kernel has no Landlock.
    """
    version = landlock_version()
    governed = (1 << max(FILE_RIGHTS[each] for each in FILE_RIGHTS if each <= max(version, 1))) - 1
    fields = [governed]
    if version >= TCP_VERSION:
        fields.append(BIND_AND_CONNECT)
    if version >= SCOPE_VERSION:
        fields.append(SIGNALS_AND_SOCKETS)
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    ruleset = syscall(CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for rights, paths in rules.items():
            for path in paths:
                _add_rule(ruleset, rights & governed, path)
        syscall(RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _add_rule(ruleset: int, rights: int, path: Path) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # no access to it either way
    try:
        if not path.is_dir():
            rights &= READ_FILE | WRITE_FILE | TRUNCATE
        syscall(ADD_RULE, ruleset, 1, struct.pack("=Qi", rights, place), 0)
    finally:
        os.close(place)
