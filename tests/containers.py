"""Dockerfile steps and compose services, run without Docker.

An image is a folder that commands see as their root. The machine's programs are bound into it
read-only, in a separate mount namespace. RUN steps run there as root. Services run without
privileges as the image's user, can write only to their volumes and /tmp, and use the machine's own
network. The mounts need root.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROGRAMS = ("usr", "bin", "sbin", "lib", "lib64")

MOUNT = """set -e
mount --make-rprivate /
mount --bind "$ROOT" "$ROOT"
for path in $TMPFS; do mount -t tmpfs -o mode=1777 tmpfs "$ROOT$path"; done
for path in $BOUND; do
  mkdir -p "$ROOT$path"
  mount --rbind "$path" "$ROOT$path"
  mount -o remount,bind,ro "$ROOT$path"
done
mount --rbind /dev "$ROOT/dev"
mount --bind /proc "$ROOT/proc"
for path in $VOLUMES; do mount --bind "${path%%:*}" "$ROOT${path#*:}"; done
if [ "$READ_ONLY" ]; then mount -o remount,bind,ro "$ROOT"; fi
cd /
exec env --ignore-environment "$@"
"""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a Dockerfile: its instruction and the rest of the line."""

    instruction: str
    rest: str

    def words(self) -> list[str]:
        """The step's arguments, from either of the two forms that Docker accepts."""
        if self.rest.startswith("["):
            return [str(word) for word in json.loads(self.rest)]
        return shlex.split(self.rest)


def parse(text: str) -> list[list[Step]]:
    """Return the steps of each stage of a Dockerfile."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    steps = [Step(*line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]
    starts = [place for place, step in enumerate(steps) if step.instruction == "FROM"]
    return [steps[a:b] for a, b in zip(starts, [*starts[1:], None], strict=True)]


@dataclass
class Image:
    """The folder of a Dockerfile's stage while it is built, or of a container made from it."""

    root: Path
    path: Sequence[Path]
    bound: Sequence[Path]
    environment: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: str = "root"
    command: list[str] = field(default_factory=list)
    volumes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Create the folders where the machine's programs and files will be mounted."""
        self.environment["PATH"] = ":".join([*map(str, self.path), "/usr/sbin:/usr/bin:/sbin:/bin"])
        self.root.mkdir(mode=0o755)
        for name in ("dev", "proc", "tmp", "var", "root"):
            (self.root / name).mkdir(mode=0o755)
        shutil.copytree("/etc", self.root / "etc", symlinks=True)
        for name in PROGRAMS:
            original = Path("/") / name
            if original.is_symlink():
                (self.root / name).symlink_to(original.readlink())
        for path in self._bound():
            inside = self.root / path.relative_to("/")
            for folder in (*reversed(inside.relative_to(self.root).parents), inside):
                (self.root / folder).mkdir(mode=0o755, exist_ok=True)

    def _bound(self) -> list[Path]:
        programs = [Path("/") / name for name in PROGRAMS]
        real = [path for path in programs if path.is_dir() and not path.is_symlink()]
        return [*real, *self.bound]

    def inside(self, path: str) -> Path:
        """Return the path on this machine of a path inside the image."""
        whole = path if path.startswith("/") else f"{self.folder}/{path}"
        return self.root / whole.lstrip("/")

    def ids(self, user: str | None = None) -> tuple[int, int]:
        """Return the user id and group id of one of the image's users."""
        for line in (self.root / "etc" / "passwd").read_text().splitlines():
            name, _, uid, gid, *_ = line.split(":")
            if name == (user or self.user):
                return int(uid), int(gid)
        raise LookupError(user)

    def start(
        self,
        command: Sequence[str],
        *,
        user: str | None = None,
        environment: Mapping[str, str] | None = None,
        read_only: bool = False,
        volumes: Mapping[str, Path] | None = None,
        tmpfs: Sequence[str] = (),
        **options: Any,
    ) -> subprocess.Popen[bytes]:
        """Start a command in the image, in a new process group."""
        uid, gid = self.ids(user)
        drop = ["--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"] if read_only else []
        settings = {**self.environment, **(environment or {})}
        script = f'cd "{self.folder}" && umask 022 && exec "$@"'
        inner = [
            *(f"{name}={value}" for name, value in settings.items()),
            "chroot", str(self.root),
            "setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups", *drop,
            "/bin/sh", "-c", script, "sh", *command,
        ]  # fmt: skip
        outer = {
            "PATH": os.environ["PATH"],
            "ROOT": str(self.root),
            "BOUND": " ".join(map(str, self._bound())),
            "VOLUMES": " ".join(f"{path}:{name}" for name, path in (volumes or {}).items()),
            "TMPFS": " ".join(tmpfs),
            "READ_ONLY": "1" if read_only else "",
        }
        return subprocess.Popen(
            ["unshare", "--mount", "/bin/sh", "-c", MOUNT, "sh", *inner],
            env=outer,
            start_new_session=True,
            **options,
        )

    def run(self, command: Sequence[str], **options: Any) -> str:
        """Run a command and return its output; fail if the command fails."""
        process = self.start(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
        output, _ = process.communicate(timeout=1200)
        assert process.returncode == 0, (command, output.decode()[-4000:])
        return output.decode()


Skip = Callable[[Step], bool]


def build(
    stage: Sequence[Step], image: Image, context: Path, *, stages: Mapping[str, Path], skip: Skip
) -> None:
    """Run the steps of a stage in `image`, except RUN steps for which `skip` returns True.

    `stages` are the root folders of earlier stages, by name.
    """
    image.environment["HOME"] = "/root"
    for step in stage[1:]:
        if step.instruction == "RUN" and skip(step):
            continue
        _take(step, image, context, stages)
    del image.environment["HOME"]


def _take(step: Step, image: Image, context: Path, stages: Mapping[str, Path]) -> None:
    match step.instruction:
        case "ENV" | "ARG":
            for word in step.words():
                name, _, value = word.partition("=")
                image.environment[name] = value
        case "WORKDIR":
            image.folder = step.rest
            image.inside(step.rest).mkdir(mode=0o755, parents=True, exist_ok=True)
        case "COPY":
            _copy(step.words(), image, context, stages)
        case "RUN":
            image.run(["/bin/sh", "-c", step.rest])
        case "USER":
            image.user = step.rest
        case "VOLUME":
            image.volumes.append(step.rest)
        case "CMD":
            image.command = step.words()
        case "EXPOSE":
            pass
        case other:
            raise NotImplementedError(other)


def _copy(words: list[str], image: Image, context: Path, stages: Mapping[str, Path]) -> None:
    """Copy files with their permissions and make root their owner.

    If a source is a folder, its contents are copied.
    """
    *flags, target = [word for word in words if word.startswith("--")] + words[-1:]
    source_root = context
    for flag in flags:
        source_root = stages[flag.removeprefix("--from=")]
    for word in words[len(flags) : -1]:
        source = source_root / word.lstrip("/")
        place = image.inside(target)
        if source.is_dir():
            shutil.copytree(source, place, dirs_exist_ok=True, symlinks=True)
        else:
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, place / source.name)
        subprocess.run(["chown", "--recursive", "0:0", str(place)], check=True)


def context_of(project: Path, target: Path, files: Sequence[str]) -> Path:
    """Copy those of `files` that .dockerignore allows to `target`; return `target`.

    Only this account can read the copies.
    """
    lines = (project / ".dockerignore").read_text().split()
    allowed = {line[1:] for line in lines if line.startswith("!")}
    for name in files:
        if name.split("/")[0] in allowed:
            place = target / name
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copyfile(project / name, place)
            place.chmod(0o600)
    subprocess.run(["chmod", "--recursive", "go-rwx", str(target)], check=True)
    return target


def interpolate(value: Any, values: Mapping[str, str]) -> Any:
    """Replace ${NAME:-default} and ${NAME:?} in part of a compose file, as Docker Compose does."""
    if isinstance(value, Mapping):
        return {name: interpolate(each, values) for name, each in value.items()}
    if isinstance(value, list):
        return [interpolate(each, values) for each in value]
    if not isinstance(value, str):
        return value

    def filled(match: re.Match[str]) -> str:
        name, kind, default = match.groups()
        assert name in values or kind == "-", f"{name} is required"
        return values.get(name, default)

    # The innermost first: a default may itself name a variable.
    while (text := re.sub(r"\$\{(\w+):([-?])([^${}]*)\}", filled, value)) != value:
        value = text
    return value


def python_folders() -> Iterator[Path]:
    """Yield the folders of this Python and of its packages, to be bound into the image."""
    yield Path(sys.base_prefix).resolve()
    yield Path(sys.prefix).resolve()
