"""The confinement of the process that reads uploads: what code that took it over can reach."""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyogrio
import pytest

from dpgeo.core.errors import InvalidInput
from dpgeo.ingest import confinement, sandbox, seccomp
from dpgeo.ingest.canonical_writer import RUN
from dpgeo.ingest.layer_reader import DRIVERS
from dpgeo.ingest.sandbox_tasks import FILE_BYTES, PROCESSOR_SECONDS, TASKS
from tests.unit.ingest import sandbox_probes as probes
from tests.unit.ingest.test_sandbox import run_ingest, shim, silent

ROOT = Path(__file__).parents[3]
MISSING = confinement.missing_protections()
NOBODY = 65534
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": str(ROOT),
    "PYTHONDONTWRITEBYTECODE": "1",
    "DPGEO_SECRET_KEY": probes.SECRET,
}

needs_seccomp = pytest.mark.skipif("seccomp" in MISSING, reason="this kernel lacks seccomp")
needs_landlock = pytest.mark.skipif("landlock" in MISSING, reason="this kernel lacks Landlock")

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux does this")

ACCOUNTS = ["own", "nobody"]


def as_nobody(words: list[str]) -> list[str]:
    """Return a command line that runs another as the account nobody.

    That account may be unable to reach Python, for instance because it is in the home folder of
    root. Then the folders on the way are replaced, in a namespace of its own, by empty ones in
    which only Python is.
    """
    if os.getuid() != 0:
        pytest.skip("only root can become another account; the tests of this account have run")
    if not shutil.which("setpriv"):
        pytest.skip("setpriv, of util-linux, is not installed")
    change = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *words]
    needed = {path.resolve() for path in (Path(sys.base_prefix), Path(sys.prefix), ROOT)}
    outer = {path for path in needed if needed.isdisjoint(path.parents)}
    closed = {
        path: folders[-1]
        for path in sorted(outer)
        if (folders := [each for each in path.parents if not each.stat().st_mode & 1])
    }
    steps, returns = [], []
    for number, path in enumerate(closed):
        aside, place = f'"$ASIDE"/{number}', shlex.quote(str(path))
        steps.append(f"mkdir {aside} && mount --bind {place} {aside}")
        returns.append(f"mkdir -p {place} && mount --move {aside} {place}")
    steps += [
        f"mount -t tmpfs -o mode=755 none {shlex.quote(str(folder))}"
        for folder in sorted(set(closed.values()))
    ]
    steps += returns
    if not steps:
        return change
    tried = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    if tried.returncode:
        pytest.skip("the account nobody cannot reach Python, nor can it be brought to it")
    script = " && ".join(["ASIDE=$(mktemp -d)", *steps, f"exec {shlex.join(change)}"])
    return ["unshare", "--mount", "sh", "-c", script]


def outcomes(account: str, mode: str) -> dict[str, Any]:
    """Run every probe outside and in the sandbox (`sandbox_probes`), as an account."""
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder) / "site"
        site.mkdir()
        words = [sys.executable, "-m", probes.__name__, str(site), mode]
        if account == "nobody":
            words = as_nobody(words)
            Path(folder).chmod(0o755)
            os.chown(site, NOBODY, NOBODY)
        done = subprocess.run(
            words, env=ENVIRONMENT, cwd=folder, capture_output=True, text=True, timeout=120,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found


def check(found: dict[str, Any], refused: set[str]) -> None:
    """Check that each probe succeeded outside, and failed in the sandbox if it is in `refused`."""
    assert found["outside"].keys() == found["inside"].keys() == probes.EVERY.keys()
    assert {name: error for name, error in found["outside"].items() if error} == {}
    assert {name for name, error in found["inside"].items() if not error} & refused == set()
    assert set(found["left"].values()) <= {"-rw-r--r--", "-rw-------"}  # no links, pipes, sockets


@needs_seccomp
@needs_landlock
@pytest.mark.parametrize("account", ACCOUNTS)
def test_code_in_the_sandbox_reaches_nothing_of_the_site(account: str) -> None:
    assert len(probes.MAIN) == 14
    check(outcomes(account, "all"), set(probes.EVERY))


@needs_seccomp
@pytest.mark.parametrize("account", ACCOUNTS)
def test_without_landlock_files_alone_are_within_reach(account: str) -> None:
    """On a kernel without Landlock, everything but files is still refused.

    The memory and environment of the process that started the sandbox are protected by itself.
    """
    check(outcomes(account, "seccomp"), set(probes.EVERY) - probes.FILES)


@needs_seccomp
@pytest.mark.parametrize("version", [1, 2])
def test_files_that_may_be_read_cannot_be_emptied_with_an_older_landlock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    """The first versions of Landlock, in Linux up to 6.1, let whoever may read a file empty it.

    They are imitated: newer kernels do the same for a process that names no more rights.
    """
    work = """
    refusals = []
    for flags in (os.O_RDONLY | os.O_TRUNC, os.O_RDONLY | os.O_TRUNC | os.O_CLOEXEC):
        try:
            os.open(request["source"], flags)
        except OSError as error:
            refusals.append(error.errno)
    Path("own").write_text("rows")
    Path("own").write_text("")
    return refusals
"""
    older = f"from dpgeo.ingest import landlock\nlandlock.landlock_version = lambda: {version}\n"
    found = run_task(tmp_path, monkeypatch, "ingest", work, older)
    assert found == [errno.EPERM, errno.EPERM]
    assert (tmp_path / "task.py").read_text()


def test_the_files_that_only_landlock_protects_are_probed() -> None:
    assert probes.EVERY.keys() >= probes.FILES


SPIES = """
import sys
from pathlib import Path
try:
    print(b"secret of the site" in Path(f"/proc/{sys.argv[1]}/environ").read_bytes())
except PermissionError:
    print("refused")
"""

PROTECTED = f"""
import os, subprocess, sys
from dpgeo.core.linux import forbid_inspection
spy = [sys.executable, "-c", {SPIES!r}, str(os.getpid())]
subprocess.run(spy, check=True)
forbid_inspection()
subprocess.run(spy, check=True)
"""


def test_processes_with_keys_keep_their_environment_from_others_of_their_account() -> None:
    words = [sys.executable, "-c", PROTECTED]
    if os.getuid() == 0:  # which may read everything
        words = as_nobody(words)
    done = subprocess.run(
        words, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["True", "refused"]


def test_whatever_loads_the_settings_is_protected(tmp_path: Path) -> None:
    program = "import dpgeo.config.settings\nfrom dpgeo.core.linux import prctl\nprint(prctl(3))\n"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=ENVIRONMENT | {"DPGEO_VAR": str(tmp_path)},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout == "0\n"


HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_the_numbers_of_calls_are_the_kernels(name: str) -> None:
    if not HEADERS[name].exists():
        pytest.skip("the headers of the kernel are not installed")
    text = HEADERS[name].read_text()
    numbers = {
        call: int(number)
        for call, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)
    }
    renamed = {"fadvise64": "fadvise64", "newfstatat": "fstatat"} if name == "aarch64" else {}
    column = seccomp.PROCESSORS[name].column
    calls = seccomp.CALLS | {each: one.numbers for each, one in seccomp.conditions().items()}
    for call, pair in calls.items():
        if pair[column] is not None:
            assert numbers.get(renamed.get(call, call)) == pair[column], call


def verdict(program: bytes, code: int, number: int, *arguments: int) -> int:
    """Return what a filter decides on a call, as the kernel's machine does."""
    data = struct.pack("=iIQ6Q", number, code, 0, *arguments, *[0] * (6 - len(arguments)))
    steps = list(struct.iter_unpack("=HBBI", program))
    place = word = 0
    while True:
        instruction, then, otherwise, value = steps[place]
        place += 1
        if instruction == seccomp.RETURN:
            return int(value)
        if instruction == seccomp.LOAD:
            [word] = struct.unpack_from("=I", data, value)
        elif instruction == seccomp.AND:
            word &= value
        else:
            assert instruction == seccomp.JUMP_IF_EQUAL
            place += then if word == value else otherwise


REFUSED = seccomp.ERRNO | errno.EPERM


@pytest.mark.parametrize("name", seccomp.PROCESSORS)
def test_the_filter_allows_the_listed_calls_alone(name: str) -> None:
    processor = seccomp.PROCESSORS[name]
    program = seccomp.filter_program(processor)
    assert len(program) // 8 <= 4096, "the kernel takes no longer program"
    listed = {numbers[processor.column] for numbers in seccomp.CALLS.values()}
    own = {each.numbers[processor.column]: each for each in seccomp.conditions().values()}
    for number in range(700):
        allowed = verdict(program, processor.code, number) == seccomp.ALLOW
        if number not in own:
            assert allowed == (number in listed), number
            continue
        call = own[number]
        for value in (
            *range(40),
            1030,
            0o1000,
            0o1001,
            0o1101,
            0o2001000,
            os.getpid(),
            0x5401,
            0x5412,
            0x3D0F00,
            0x10000F00,
        ):
            before = [0] * call.argument
            decided = verdict(program, processor.code, number, *before, value)
            assert (decided == seccomp.ALLOW) == (value & call.mask in call.values), (number, value)
    unknown = verdict(program, processor.code, 435)  # clone3, whose flags no filter can see
    assert unknown == seccomp.ERRNO | errno.ENOSYS
    thread, process = 0x3D0F00, 0x1200011
    clone = seccomp.conditions()["clone"].numbers[processor.column]
    assert clone is not None
    assert verdict(program, processor.code, clone, thread) == seccomp.ALLOW
    assert verdict(program, processor.code, clone, process) == REFUSED
    assert verdict(program, processor.code, clone, thread | 0x10000000) == REFUSED
    assert verdict(program, 0x40000003, 0) == seccomp.KILL_PROCESS  # 32-bit x86


def skipped_drivers() -> str:
    """Return the drivers that GDAL skips in the process that reads layers."""
    return ",".join(sorted(set(pyogrio.list_drivers()) - set(DRIVERS)))


def run_task(
    folder: Path, monkeypatch: pytest.MonkeyPatch, task: str, work: str, before: str = ""
) -> Any:
    """Run some lines of Python in the sandbox in place of a task, and others before it begins."""
    program = folder / "task.py"
    program.write_text(
        "import os, resource, sys, time\n"
        "from pathlib import Path\n"
        "from dpgeo.ingest import sandbox_worker as worker\n"
        f"{before}real = worker.load\n"
        f"def run(request, say):\n{work}\n"
        "def load(task):\n"
        "    real(task)\n"
        "    return run\n"
        "worker.load = load\n"
        "worker.main()\n"
    )
    (folder / "work").mkdir()
    # So the process that reads layers is not started again, without these lines.
    fixed = sandbox.FIXED | {"GDAL_SKIP": skipped_drivers()}
    monkeypatch.setattr(sandbox, "FIXED", fixed)
    monkeypatch.setattr(sys, "executable", shim(folder, program))
    request = {"source": str(program)}
    return sandbox.run(task, request, folder / "work", silent, lambda answer: answer)


LIMITS = """
    names = ("CPU", "FSIZE", "AS", "NPROC", "NOFILE", "CORE")
    limits = {name: getattr(resource, f"RLIMIT_{name}") for name in names}
    raised = []
    for name, what in limits.items():
        try:
            resource.setrlimit(what, (resource.RLIM_INFINITY,) * 2)
            raised.append(name)
        except (OSError, ValueError):
            pass
    return [{name: resource.getrlimit(what)[1] for name, what in limits.items()}, raised]
"""


@needs_seccomp
@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_limits_that_it_cannot_raise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    limits, raised = run_task(tmp_path, monkeypatch, task, LIMITS)
    assert raised == []
    assert resource.RLIM_INFINITY not in limits.values(), limits
    assert limits["CPU"] == PROCESSOR_SECONDS[task] + 5
    assert limits["FSIZE"] == FILE_BYTES[task]
    assert limits["CORE"] == 0


def test_a_task_that_writes_too_large_a_file_is_refused_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = """
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30,) * 2)
    with open("large", "wb") as file:
        file.seek(1 << 30)
        file.write(b"1")
    """
    with pytest.raises(InvalidInput, match="more than 1 GiB; upload it in several parts"):
        run_task(tmp_path, monkeypatch, "ingest", work)


class Disk(NamedTuple):
    """What a file system says of itself."""

    f_bavail: int
    f_frsize: int = 1
    f_files: int = 0
    f_favail: int = 0


@pytest.mark.parametrize("what", ["bytes", "files"])
def test_a_task_that_fills_the_disk_is_stopped_before_it_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """A disk with little more room than is left free is imitated; the files are real."""

    def disk(folder: Path) -> Disk:
        if what == "files":
            left = sandbox.FILES_LEFT_FREE + 8 - len(list(folder.iterdir()))
            return Disk(1 << 50, f_files=1 << 20, f_favail=left)
        return Disk(sandbox.LEFT_FREE + (8 << 20) - sum(map(size_of, folder.iterdir())))

    monkeypatch.setattr(os, "statvfs", disk)
    work = """
    for number in range(60):
        with open(f"file-{number}", "wb") as file:
            file.write(bytes(1 << 20))
        time.sleep(0.1)
    """
    with pytest.raises(OSError, match="No space left"):
        run_task(tmp_path, monkeypatch, "ingest", work)
    assert 8 <= len(list((tmp_path / "work").iterdir())) < 60


def size_of(path: Path) -> int:
    return path.stat().st_size


@needs_landlock
def test_the_site_is_not_read_as_if_it_were_a_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sandbox.FIXED, "PROJ_DATA", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"RuntimeError at .*confinement\.py"):
        run_task(tmp_path, monkeypatch, "ingest", "    return 1")


def test_what_libraries_do_with_files_works_in_the_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files without a name, as rows are spilled to, locks, renaming, databases and time zones."""
    work = """
    import gzip, shutil, sqlite3, tempfile, zipfile, zoneinfo
    with tempfile.TemporaryFile(dir=".") as file:
        file.write(b"rows")
        file.truncate(1000)
    with tempfile.NamedTemporaryFile(dir=".") as file:
        shutil.copyfile(request["source"], "copy")
    os.rename("copy", "moved")
    with zipfile.ZipFile("packed", "w") as archive:
        archive.writestr("a", "a" * 1000)
    with gzip.open("packed", "wb") as file:
        file.write(bytes(100))
    connection = sqlite3.connect("database")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE words (word text)")
    connection.execute("INSERT INTO words VALUES ('word')")
    connection.commit()
    [[count]] = connection.execute("SELECT count(*) FROM words")
    return [str(zoneinfo.ZoneInfo("Europe/Paris")), count]
    """
    assert run_task(tmp_path, monkeypatch, "ingest", work) == ["Europe/Paris", 1]


def test_rows_that_are_spilled_to_files_are_read_in_the_sandbox(tmp_path: Path) -> None:
    rows = RUN // 2
    people = pa.array(np.arange(rows) % 5_000).cast(pa.string())
    table = {"who": people, "lat": np.full(rows, 45.0), "lon": np.full(rows, 5.0)}
    pq.write_table(pa.table(table), tmp_path / "many.parquet")
    report = run_ingest(tmp_path / "many.parquet", tmp_path / "canonical")
    assert report.accepted == rows == pq.read_metadata(tmp_path / "canonical").num_rows


def test_threads_of_a_task_are_confined_and_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = """
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(lambda number: number**2, range(100)))
    """
    assert run_task(tmp_path, monkeypatch, "ingest", work) == [each**2 for each in range(100)]


ORPHANED = """
import sys
from pathlib import Path
from tests.unit.ingest.test_confinement import orphaned
orphaned(Path(sys.argv[1]))
"""


def orphaned(folder: Path) -> None:
    """Run a task that says its process id and then sleeps."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        work = """
    Path("id").write_text(str(os.getpid()))
    time.sleep(300)
        """
        run_task(folder, monkeypatch, "ingest", work)


@needs_linux
def test_the_process_ends_with_the_one_that_started_it(tmp_path: Path) -> None:
    words = [sys.executable, "-c", ORPHANED, str(tmp_path)]
    starter = subprocess.Popen(words, env=ENVIRONMENT)
    try:
        told = tmp_path / "work" / "id"
        until(lambda: told.exists() and bool(told.read_text()))
    finally:
        starter.kill()
        starter.wait()
    until(lambda: not is_running(int(told.read_text())))


def until(done: Callable[[], bool]) -> None:
    """Wait until something is so, for a minute at most."""
    end = time.monotonic() + 60
    while not done():
        assert time.monotonic() < end
        time.sleep(0.05)


def is_running(process: int) -> bool:
    """Return whether a process runs, and is not only waiting for its end to be noticed."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def test_a_process_with_threads_is_not_taken_for_confined(tmp_path: Path) -> None:
    program = (
        "import threading, time\nfrom pathlib import Path\n"
        "from dpgeo.ingest.confinement import confine\n"
        "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
        f"confine(Path({__file__!r}), Path({str(tmp_path)!r}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=ENVIRONMENT, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert "Threads run already" in done.stderr
