"""Probes: what code that took over the reader of uploads would try, in the sandbox and outside it.

`python -m tests.unit.ingest.sandbox_probes FOLDER MODE` makes a site with secrets in FOLDER, tries
every probe in a usual process and then in the real sandbox, and prints the outcomes as JSON: for
each probe, "" where it succeeded and the error where it failed. `Site.parent` is the process that
starts the sandbox, as a worker does.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import mmap
import os
import resource
import signal
import socket
import sqlite3
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dpgeo.core.linux import checked, forbid_inspection, libc, prctl, syscall
from dpgeo.ingest import sandbox

SECRET = "the secret of the site"  # noqa: S105
PACKAGE = Path(sandbox.__file__).parents[1]
PR_SET_PTRACER, ANY = 0x59616D61, (1 << 64) - 1


@dataclass(frozen=True)
class Site:
    """What there is to attack: the site's folder and program, and the process `parent`."""

    var: str
    program: str
    folder: str
    parent: int
    address: int
    """Place of SECRET in the memory of `parent`."""
    inherited: int
    """A file descriptor of `parent`, of the file of the secret key, that programs may inherit."""
    port: int
    abstract: str

    @property
    def key(self) -> Path:
        return Path(self.var) / "secret-key"


def environment(site: Site) -> None:
    assert SECRET.encode() in Path(f"/proc/{site.parent}/environ").read_bytes()


def secret_key(site: Site) -> None:
    assert site.key.read_text() == SECRET


def person_key(site: Site) -> None:
    assert (Path(site.var) / "person-key").read_text() == SECRET


def database(site: Site) -> None:
    with sqlite3.connect(Path(site.var) / "db.sqlite3") as connection:
        assert connection.execute("SELECT word FROM keys").fetchone() == (SECRET,)


def database_change(site: Site) -> None:
    with sqlite3.connect(Path(site.var) / "db.sqlite3") as connection:
        connection.execute("INSERT INTO keys VALUES ('forged')")


def private_files(site: Site) -> None:
    for path in (Path(site.var) / "private").iterdir():
        assert path.read_text() == SECRET


def releases(site: Site) -> None:
    (Path(site.var) / "releases" / "forged").write_text("forged")


def queue(site: Site) -> None:
    (Path(site.var) / "queue" / "forged").write_text("forged")


def program(site: Site) -> None:
    with Path(site.program).open("r+b"):
        pass


def tcp(site: Site) -> None:
    socket.create_connection(("127.0.0.1", site.port), timeout=5).close()


def exec_program(site: Site) -> None:
    os.execv("/bin/sh", ["sh", "-c", "exit 7"])  # noqa: S606


def fork(site: Site) -> None:
    if not (child := os.fork()):
        os._exit(0)
    os.waitpid(child, 0)


def signals(site: Site) -> None:
    os.kill(site.parent, signal.SIGUSR1)


def memory(site: Site) -> None:
    with Path(f"/proc/{site.parent}/mem").open("rb", buffering=0) as file:
        file.seek(site.address)
        assert file.read(len(SECRET)) == SECRET.encode()


MAIN: dict[str, Callable[[Site], None]] = {
    each.__name__: each
    for each in (
        *(environment, secret_key, person_key, database, database_change, private_files),
        *(releases, queue, program, tcp, fork, signals, memory, exec_program),
    )
}
"""What an attacker wants most; `exec_program` is the last, since it ends the process."""

FILES = {
    *("secret_key", "person_key", "database", "database_change", "private_files"),
    *("releases", "queue", "program", "read_by_path_of_descriptor", "rename_out", "shared_folder"),
    *("unlink_others", "list_others"),
}
"""Probes that only Landlock refuses."""


def process_vm_readv(site: Site) -> None:
    target = ctypes.create_string_buffer(len(SECRET))
    pairs = [(ctypes.addressof(target), len(SECRET)), (site.address, len(SECRET))]
    here, there = ((ctypes.c_size_t * 2)(*pair) for pair in pairs)
    checked(libc().process_vm_readv(site.parent, here, 1, there, 1, 0))
    assert target.raw == SECRET.encode()


def ptrace(site: Site) -> None:
    checked(libc().ptrace(0x4206, site.parent, None, None))  # PTRACE_SEIZE stops nothing
    checked(libc().ptrace(0x4207, site.parent, None, None))
    os.waitpid(site.parent, 0x40000000)
    checked(libc().ptrace(17, site.parent, None, None))


def inherited_descriptor(site: Site) -> None:
    found, wanted = os.fstat(site.inherited), site.key.stat()
    assert (found.st_ino, found.st_dev) == (wanted.st_ino, wanted.st_dev)


def read_by_path_of_descriptor(site: Site) -> None:
    Path(f"/proc/{site.parent}/fd/{site.inherited}").read_text()


def rename_out(site: Site) -> None:
    (made := Path(site.folder) / "made").write_text("forged")
    made.rename(Path(site.var) / "releases" / "moved")


def unlink_others(site: Site) -> None:
    (Path(site.var) / "releases" / "old").unlink()


def list_others(site: Site) -> None:
    assert list(Path(site.var).iterdir())


def link_to_secret(site: Site) -> None:
    (Path(site.folder) / "canonical.parquet").symlink_to(site.key)


def hard_link_to_secret(site: Site) -> None:
    (Path(site.folder) / "hard").hardlink_to(site.key)


def pipe_in_folder(site: Site) -> None:
    os.mkfifo(Path(site.folder) / "pipe")


def open_the_keys_mode(site: Site) -> None:
    site.key.chmod(0o644)


def time_of_a_file(site: Site) -> None:
    os.utime(site.key, (0, 0))


def attribute_of_a_file(site: Site) -> None:
    os.setxattr(site.key, "user.mark", b"1")


def truncate_a_file(site: Site) -> None:
    os.truncate(Path(site.var) / "releases" / "whole", 0)


def shared_folder(site: Site) -> None:
    path = Path("/dev/shm") / f"probe-{os.getpid()}"  # noqa: S108
    path.write_text("forged")
    path.unlink()


def shared_memory(site: Site) -> None:
    made = checked(libc().shmget(0, 4096, 0o1600))
    checked(libc().shmctl(made, 0, None))


def memory_file(site: Site) -> None:
    os.close(os.memfd_create("probe"))


def datagram(site: Site) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("127.0.0.1", site.port))


def abstract_socket(site: Site) -> None:
    with socket.socket(socket.AF_UNIX) as sender:
        sender.connect(f"\0{site.abstract}")


def pair_of_sockets(site: Site) -> None:
    for each in socket.socketpair():
        each.close()


def signal_to_a_thread(site: Site) -> None:
    numbers = {"x86_64": 234, "aarch64": 131}
    syscall(numbers[os.uname().machine], site.parent, site.parent, signal.SIGUSR1)


def signal_by_owner(site: Site) -> None:
    """Let the kernel send a signal to the parent when a pipe has something to read."""
    ends = os.pipe()
    try:
        fcntl.fcntl(ends[0], fcntl.F_SETOWN, site.parent)
    finally:
        for end in ends:
            os.close(end)


def process_descriptor(site: Site) -> None:
    os.close(os.pidfd_open(site.parent))


def limit_others(site: Site) -> None:
    resource.prlimit(site.parent, resource.RLIMIT_CORE, (0, 0))


def move_others(site: Site) -> None:
    os.sched_setaffinity(site.parent, os.sched_getaffinity(0))


def slow_others(site: Site) -> None:
    os.setpriority(os.PRIO_PROCESS, site.parent, os.getpriority(os.PRIO_PROCESS, 0))


def process_that_shares_memory(site: Site) -> None:
    """Start a process that is no thread, by a raw call that has the flags of neither."""
    numbers = {"x86_64": 56, "aarch64": 220}
    child = syscall(numbers[os.uname().machine], int(signal.SIGCHLD), 0, 0, 0, 0)
    if not child:
        os._exit(0)
    os.waitpid(child, 0)


def become_inspectable(site: Site) -> None:
    prctl(4, 1)


def lock_memory(site: Site) -> None:
    space = mmap.mmap(-1, 4096)
    place = ctypes.addressof(ctypes.c_char.from_buffer(space))
    checked(libc().mlock(ctypes.c_void_p(place), ctypes.c_size_t(4096)))


def in_a_thread(site: Site) -> None:
    """Connect from another thread."""
    errors: list[BaseException] = []

    def work() -> None:
        try:
            tcp(site)
        except OSError as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


FURTHER: dict[str, Callable[[Site], None]] = {
    each.__name__: each
    for each in (
        *(process_vm_readv, ptrace, inherited_descriptor, read_by_path_of_descriptor, rename_out),
        *(unlink_others, list_others, link_to_secret, hard_link_to_secret, pipe_in_folder),
        *(open_the_keys_mode, time_of_a_file, attribute_of_a_file, truncate_a_file),
        *(shared_folder, shared_memory, memory_file, datagram, abstract_socket, pair_of_sockets),
        *(signal_to_a_thread, signal_by_owner, process_descriptor, limit_others, move_others),
        *(slow_others, process_that_shares_memory, become_inspectable, lock_memory, in_a_thread),
    )
}
"""Ways around the usual protections."""

EVERY = FURTHER | MAIN


def attempt(site: Site, name: str) -> str:
    """Return "" if a probe succeeds, or else the error."""
    try:
        EVERY[name](site)
    except (OSError, sqlite3.Error, AssertionError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def outside(site: Site) -> dict[str, str]:
    """Try every probe in a usual process that this one starts."""
    words = [sys.executable, "-m", __spec__.name, "outside", json.dumps(asdict(site))]
    reading, writing = os.pipe()
    if not (child := os.fork()):
        os.dup2(writing, 1)
        os.execv(sys.executable, words)  # noqa: S606
    os.close(writing)
    with os.fdopen(reading) as pipe:
        outcomes: dict[str, str] = json.loads(pipe.read())
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return outcomes | {"exec_program": "" if status == 7 else str(status)}


def inside(site: Site, without: str) -> dict[str, str]:
    """Try every probe in the sandbox, as a file that took its reader over."""
    program = Path(site.folder).parent / "probing.py"
    program.write_text(
        "import os, sys\n"
        f"sys.path[:0] = [{str(PACKAGE.parent)!r}]\n"
        "from dpgeo.ingest import confinement, sandbox_worker as worker\n"
        "from tests.unit.ingest import sandbox_probes as probes\n"
        "real, missing = worker.load, confinement.missing_protections()\n"
        f"confinement.missing_protections = lambda: missing + [{without!r}]\n"
        "def probe(request, say):\n"
        "    site = probes.Site(**request['site'])\n"
        "    outcomes = {}\n"
        "    for name in probes.EVERY:\n"
        "        say({'progress': [len(outcomes), len(probes.EVERY)]})\n"
        "        outcomes[name] = probes.attempt(site, name)\n"
        "    return outcomes\n"
        "def load(task):\n"
        "    real(task)\n"
        "    return probe\n"
        "worker.load = load\n"
        "worker.main()\n"
    )
    script = program.with_name("python")
    script.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{program}' \"$4\" \"$5\"\n")
    script.chmod(0o755)
    sys.executable, real = str(script), sys.executable
    try:
        request = {"source": str(program.with_name("source")), "site": asdict(site)}
        return sandbox.run("ingest", request, Path(site.folder), lambda *_: None, dict)
    finally:
        sys.executable = real


def make_site(folder: Path) -> dict[str, Any]:
    """Make a site in an empty folder, whose secrets are SECRET; return what `Site` says of it."""
    var, work = folder / "var", folder / "work"
    for each in (work, var / "private", var / "releases", var / "queue"):
        each.mkdir(parents=True)
    named = ("secret-key", "person-key", "private/rows", "releases/old", "releases/whole")
    for name in named:
        (var / name).write_text(SECRET)
        (var / name).chmod(0o600)
    (folder / "source").write_text("who,lat,lon\n")
    with sqlite3.connect(var / "db.sqlite3") as connection:
        connection.execute("CREATE TABLE keys (word text)")
        connection.execute("INSERT INTO keys VALUES (?)", (SECRET,))
    connection.close()
    own = PACKAGE / "__init__.py"
    if not os.access(own, os.W_OK):  # another account may not change it anyway
        own = var / "program.py"
        own.write_text("")
    return {"var": str(var), "program": str(own), "folder": str(work)}


def restore(site: Site) -> None:
    """Make what the probes outside have removed or changed, for those in the sandbox."""
    (Path(site.var) / "releases" / "old").write_text(SECRET)
    for path in Path(site.folder).iterdir():
        path.unlink()


def main(folder: Path, mode: str) -> None:
    """Try every probe outside and in the sandbox; print the outcomes.

    `mode` is "all", or "seccomp" to do without Landlock, with a parent that is protected.
    """
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    with suppress(OSError):
        prctl(PR_SET_PTRACER, ANY)  # as without Yama, which only some systems have
    facts = make_site(folder)
    held = ctypes.create_string_buffer(SECRET.encode())
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as local,
        (Path(facts["var"]) / "secret-key").open() as key,
    ):
        abstract = f"probes-{os.getpid()}"
        local.bind(f"\0{abstract}")
        local.listen()
        os.set_inheritable(key.fileno(), True)
        port, place = server.getsockname()[1], ctypes.addressof(held)
        site = Site(**facts, parent=os.getpid(), address=place, inherited=key.fileno(), port=port,
                    abstract=abstract)  # fmt: skip
        usual = outside(site)
        restore(site)
        if mode == "seccomp":
            forbid_inspection()
        confined = inside(site, "landlock" if mode == "seccomp" else "")
        modes = {each.name: each.lstat().st_mode for each in Path(site.folder).iterdir()}
        left = {name: stat.filemode(mode) for name, mode in modes.items()}
        sys.stdout.write(json.dumps({"outside": usual, "inside": confined, "left": left}))


if __name__ == "__main__":
    if sys.argv[1] == "outside":
        place = Site(**json.loads(sys.argv[2]))
        seen = {name: attempt(place, name) for name in EVERY if name != "exec_program"}
        sys.stdout.write(json.dumps(seen))
        sys.stdout.flush()
        exec_program(place)
    main(Path(sys.argv[1]), sys.argv[2])
