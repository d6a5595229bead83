"""System checks for what protects private data: the key of the persons' hashes, and the sandbox."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.checks import Warning as Caution

from dpgeo.datasets.person_keys import MIN_KEY_LENGTH, problem_with_file
from dpgeo.ingest.confinement import missing_protections


@register()
def check_person_key(**_: Any) -> list[CheckMessage]:
    """Report an error if other accounts may read the key file, or if the key is too short."""
    if settings.PERSON_KEY and len(settings.PERSON_KEY) < MIN_KEY_LENGTH:
        problem = (
            f"DPGEO_PERSON_KEY has fewer than {MIN_KEY_LENGTH} characters; run openssl rand -hex 32"
        )
        return [Error(problem, id="dpgeo.E001")]
    problem = problem_with_file()
    return [Error(problem, id="dpgeo.E002")] if problem else []


OPEN_FILES = Caution(
    "A malicious file that takes over the process reading uploads could open all files of this "
    "account: the kernel offers no Landlock.",
    hint=(
        "Use Linux 5.13 or newer with landlock in /sys/kernel/security/lsm, and a container "
        "runtime that allows its calls."
    ),
    id="dpgeo.datasets.W001",
)
OPEN_CALLS = Caution(
    "A malicious file that takes over the process reading uploads could use the network and start "
    "programs: there is no seccomp here.",
    hint="Use Linux with seccomp filters, on x86_64 or aarch64.",
    id="dpgeo.datasets.W002",
)


@register(deploy=True)
def check_sandbox(**_: Any) -> list[CheckMessage]:
    """Warn of what the kernel lacks to confine the process that reads uploads."""
    warnings = {"landlock": OPEN_FILES, "seccomp": OPEN_CALLS}
    return [warnings[name] for name in missing_protections()]
