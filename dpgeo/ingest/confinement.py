"""Confinement of the process that reads uploads, by what the kernel offers.

A file may be made to take over the library that reads it. What then runs in this process may read
the upload and the libraries, write files in its own working folder and answer. It may also see
sizes and times of files whose names it knows, free space and the load of the machine. `landlock`
refuses other files, `seccomp` networks, programs, other processes and shared memory. The
account's capabilities are given up, so this holds for root as well.

Where the kernel lacks one of the two, the rest is done all the same; `missing_protections` says
what is lacking, and the deployment check and `manage.py doctor` report it. Systems other than Linux
have neither.
"""

from __future__ import annotations

import os
import resource
import signal
import site
import struct
import sys
import sysconfig
from pathlib import Path

from dpgeo.core.linux import checked, forbid_inspection, libc, prctl
from dpgeo.ingest.landlock import READ, WRITE, landlock_version, restrict_files
from dpgeo.ingest.seccomp import has_seccomp, restrict_calls

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38
CAPABILITY_VERSION = 0x20080522

PACKAGE = Path(__file__).resolve().parents[1]

SYSTEM_PLACES = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"),
    *("/etc/ld.so.cache", "/etc/localtime"),
)
SHARED = ("zoneinfo", "proj", "gdal")
"""Where libraries are, and their data: time zones, coordinate systems and the formats of GDAL."""

MAX_TASKS = 16_384
"""Number of processes and threads of the account beyond which the process can start no thread.

Processes it cannot start at all. The account's others count as well, in all containers of the
machine, so the number has to be generous; it is half of what the smallest systems have numbers for.
The kernel does not apply it to root.
"""


def missing_protections() -> list[str]:
    """Return which protections this system lacks: "landlock", "seccomp", both or none."""
    linux = sys.platform == "linux"
    lacks = {
        "landlock": not (linux and landlock_version()),
        "seccomp": not (linux and has_seccomp()),
    }
    return [name for name, lacking in lacks.items() if lacking]


def limit(what: int, amount: int, beyond: int = 0) -> None:
    """Lower a limit on this process's resources, and its hard limit to `beyond` more.

    A lower hard limit that the system has set stays.
    """
    hard = resource.getrlimit(what)[1]
    highest = amount + beyond if hard == resource.RLIM_INFINITY else min(amount + beyond, hard)
    resource.setrlimit(what, (min(amount, highest), highest))


def confine(source: Path, folder: Path) -> None:
    """Confine this process, which reads `source` and writes in `folder`, until it ends.

    No other thread may run, since the kernel would not confine it. Raises OSError; or RuntimeError
    if there is another thread, or if the folder is in one that stays readable as a whole.
    """
    limit(resource.RLIMIT_NPROC, MAX_TASKS)
    if sys.platform != "linux":
        return
    if len(os.listdir("/proc/self/task")) != 1:  # noqa: PTH208
        raise RuntimeError("Threads run already, which would not be confined.")
    missing = missing_protections()
    forbid_inspection()
    _give_up_capabilities()
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    if "landlock" not in missing:
        libraries = library_places()
        if any(folder.resolve().is_relative_to(each.resolve()) for each in libraries):
            raise RuntimeError("The site's own folder is among the libraries, which may be read.")
        restrict_files({READ: [source, *libraries], WRITE: [folder]})
    if "seccomp" not in missing:
        restrict_calls()


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent, whose process id is given, ends."""
    if sys.platform == "linux":
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            raise SystemExit(1)


def library_places() -> list[Path]:
    """Return the files and folders from which Python, the libraries and this package are read."""
    paths = sysconfig.get_paths()
    python = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    if site.ENABLE_USER_SITE:
        python.append(site.getusersitepackages())
    named = [os.environ.get(name, "") for name in ("LD_LIBRARY_PATH", "PROJ_DATA", "PYTHONTZPATH")]
    return [
        PACKAGE,
        *map(Path, python),
        Path(sys.base_prefix) / "lib",
        *map(Path, SYSTEM_PLACES),
        *(Path(each) / "share" / name for each in ("/usr", sys.base_prefix) for name in SHARED),
        *(Path(each) for text in named for each in text.split(os.pathsep) if each),
    ]


def _give_up_capabilities() -> None:
    """Give up the capabilities of this thread, which root has and containers may grant."""
    header = struct.pack("=Ii", CAPABILITY_VERSION, 0)
    checked(libc().capset(header, bytes(24)))
