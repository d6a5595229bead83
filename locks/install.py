"""Installer of a lock file's packages, by uv or by pip where uv is not available.

Usage: python locks/install.py locks/test.txt, with the Python whose environment takes them. uv
itself comes from `locks/uv.txt`. It is told the indexes, certificates and proxy that pip is
configured with; where it cannot be had or cannot reach them, pip installs the same file. Either
checks every package's hash. Only the standard library is used.
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
    """Return pip's settings for an installation, each with the value that pip would use."""
    answer = subprocess.run([*PIP, "config", "list"], capture_output=True, text=True)  # noqa: S603
    settings: dict[tuple[int, str], str] = {}
    for line in answer.stdout.splitlines():
        place, equals, value = line.partition("=")
        section, _, name = place.rpartition(".")
        if equals and section in SECTIONS:
            settings[SECTIONS.index(section), name.replace("_", "-")] = str(ast.literal_eval(value))
    return {name: value for (_, name), value in sorted(settings.items())}


SECTIONS = ["global", "install", ":env:"]
"""The sections of pip's settings that apply here; the last one takes precedence."""

FALSE = {"0", "n", "no", "f", "false", "off"}
"""The values that pip takes to mean no."""


def uv_environment(pip: Settings, outer: Settings) -> dict[str, str]:
    """Return `outer` with pip's settings under uv's names; uv's own settings in `outer` stay."""
    words = {name: value.split() for name, value in pip.items()}
    certificates = pip.get("cert", "")
    said = {
        "UV_DEFAULT_INDEX": pip.get("index-url", ""),
        "UV_INDEX": " ".join(words.get("extra-index-url", [])),
        "UV_FIND_LINKS": ",".join(words.get("find-links", [])),
        "UV_INSECURE_HOST": " ".join(words.get("trusted-host", [])),
        "UV_HTTP_TIMEOUT": pip.get("timeout", pip.get("default-timeout", "")),
        # As in pip, any index may provide a file, since its hash is checked.
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "SSL_CERT_DIR" if Path(certificates).is_dir() else "SSL_CERT_FILE": certificates,
        "SSL_CLIENT_CERT": pip.get("client-cert", ""),
        "ALL_PROXY": pip.get("proxy", ""),
    }
    return {**{name: value for name, value in said.items() if value}, **outer}


def uv_program() -> Path | None:
    """Return uv in this environment, installed if missing; None if there is no wheel of it."""
    program = Path(sysconfig.get_path("scripts")) / ("uv.exe" if os.name == "nt" else "uv")
    wheels = ["install", "-qq", "--require-hashes", "--only-binary", ":all:", "-r", str(UV_LOCK)]
    if not program.exists():
        subprocess.run([*PIP, *wheels], capture_output=True)  # noqa: S603
    return program if program.exists() else None


def install(lock: str) -> int:
    """Install by uv or pip, and return the exit code of the last one."""
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
