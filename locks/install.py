"""Installer of a lock file's packages, with uv, or with pip where uv is not available.

Usage: python locks/install.py locks/test.txt, run with the Python of the environment that should
receive the packages. uv itself is installed from `locks/uv.txt`, and gets the indexes, certificates
and proxy that pip is configured with. If uv cannot be installed or fails, pip installs the same
file. Both check the hash of every package. Only the standard library is used.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

UV_LOCK = Path(__file__).resolve().with_name("uv.txt")

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]

Settings = Mapping[str, str]


def pip_settings() -> Settings:
    """Return the settings that pip would use for an installation, with their values."""
    answer = subprocess.run([*PIP, "config", "list"], capture_output=True, text=True)  # noqa: S603
    settings: dict[tuple[int, str], str] = {}
    for line in answer.stdout.splitlines():
        place, equals, value = line.partition("=")
        section, _, name = place.rpartition(".")
        if equals and section in SECTIONS:
            settings[SECTIONS.index(section), name.replace("_", "-")] = str(ast.literal_eval(value))
    return {name: value for (_, name), value in sorted(settings.items())}


SECTIONS = ["global", "install", ":env:"]
"""The sections of pip's configuration that concern `pip install`; a later one takes precedence."""

FALSE = {"0", "n", "no", "f", "false", "off"}
"""Values that pip interprets as "no"."""


def uv_environment(pip: Settings, outer: Settings) -> dict[str, str]:
    """Return the environment `outer` plus variables that give uv the settings of pip.

    A variable that is already in `outer` keeps its value.
    """
    words = {name: value.split() for name, value in pip.items()}
    certificates = pip.get("cert", "")
    said = {
        "UV_DEFAULT_INDEX": pip.get("index-url", ""),
        "UV_INDEX": " ".join(words.get("extra-index-url", [])),
        "UV_FIND_LINKS": ",".join(words.get("find-links", [])),
        "UV_INSECURE_HOST": " ".join(words.get("trusted-host", [])),
        "UV_HTTP_TIMEOUT": pip.get("timeout", pip.get("default-timeout", "")),
        # Like pip, uv takes a file from any index; this is safe, because hashes are checked.
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "SSL_CERT_DIR" if Path(certificates).is_dir() else "SSL_CERT_FILE": certificates,
        "SSL_CLIENT_CERT": pip.get("client-cert", ""),
        "ALL_PROXY": pip.get("proxy", ""),
    }
    return {**{name: value for name, value in said.items() if value}, **outer}


def uv_program() -> Path | None:
    """Return uv in this environment, installed if missing; None if it cannot be installed."""
    program = Path(sysconfig.get_path("scripts")) / ("uv.exe" if os.name == "nt" else "uv")
    wheels = ["install", "-qq", "--require-hashes", "--only-binary", ":all:", "-r", str(UV_LOCK)]
    if not program.exists():
        subprocess.run([*PIP, *wheels], capture_output=True)  # noqa: S603
    return program if program.exists() else None


def install(lock: str) -> int:
    """Install with uv, or with pip if that fails, and return the exit code."""
    program = uv_program()
    if program:
        settings = pip_settings()
        words = [program, "pip", "install", "-q", "--python", sys.executable]
        alone = [] if settings.get("no-index", "0").lower() in FALSE else ["--no-index"]
        answer = subprocess.run(  # noqa: S603
            [*words, *alone, "--require-hashes", "-r", lock],
            env=uv_environment(settings, os.environ),
            capture_output=True,
            text=True,
        )
        if answer.returncode == 0:
            return 0
        sys.stderr.write(answer.stderr)
    sys.stderr.write("    uv could not install these packages: pip does, which takes longer\n")
    return subprocess.run([*PIP, "install", "-qq", "--require-hashes", "-r", lock]).returncode  # noqa: S603


if __name__ == "__main__":
    sys.exit(install(sys.argv[1]))
