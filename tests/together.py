"""Several commands run at the same time, because some of them mostly wait.

`python -m tests.together "COMMAND" "COMMAND"...` prints each command's whole output once it has
ended, with its elapsed time and the processor time that it and its children used. It fails if any
command fails; a failure does not stop the other commands. With `--at-once N`, only N commands run
at the same time; whenever one ends, the next one of the list starts.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from dpgeo.commands.supervisor import tie_to_parent


def run_together(commands: Sequence[str], at_once: int | None = None) -> int:
    """Run the commands, at most `at_once` at the same time; return the highest exit code."""
    with ThreadPoolExecutor(at_once or len(commands)) as pool:
        ended = as_completed([pool.submit(_run, command) for command in commands])
        return max(future.result() for future in ended)


def _run(command: str) -> int:
    began = time.monotonic()
    process = subprocess.Popen(
        shlex.split(command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=tie_to_parent(),
    )
    assert process.stdout is not None
    with process.stdout as output:
        written = output.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = code = os.waitstatus_to_exitcode(status)
    seconds, busy = time.monotonic() - began, used.ru_utime + used.ru_stime
    heading = (
        f"-- {command}: {_verdict(code)} after {seconds:.0f} s, {busy:.0f} s of the processor\n"
    )
    sys.stdout.buffer.write(heading.encode() + written)
    sys.stdout.flush()
    return abs(code)


def _verdict(code: int) -> str:
    return f"exit code {code}" if code else "passed"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--at-once", type=int)
    parser.add_argument("commands", nargs="+")
    given = parser.parse_args()
    sys.exit(run_together(given.commands, given.at_once))
