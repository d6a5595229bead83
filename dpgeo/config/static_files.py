"""Storage for collected scripts and styles that any account of the operating system can read."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from whitenoise.storage import CompressedStaticFilesStorage

READABLE, SEARCHABLE = 0o644, 0o755


class ReadableStaticFilesStorage(CompressedStaticFilesStorage):  # type: ignore[misc]
    """WhiteNoise's compressed files, readable by every account.

    This does not depend on the umask of the account that collects them. In the image, root collects
    the files and the site's own account serves them. If root collected them under umask 077, or in
    a folder made with it, the site's own account could not read them.
    """

    def post_process(
        self, paths: dict[str, Any], dry_run: bool = False, **options: Any
    ) -> Iterator[tuple[str, str, bool]]:
        """Compress the files, then let every account read all of them."""
        yield from super().post_process(paths, dry_run, **options)
        if not dry_run:
            make_readable(Path(self.location))


def make_readable(folder: Path) -> None:
    """Make a folder readable by all accounts of the operating system, with everything in it."""
    for path in (folder, *folder.rglob("*")):
        if path.is_symlink():
            continue
        mode = stat.S_IMODE(path.stat().st_mode)
        wanted = mode | (SEARCHABLE if path.is_dir() else READABLE)
        if mode != wanted:
            path.chmod(wanted)
