"""nginx in front of a site, for tests of what it caches, logs and waits for."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.requirements import need
from tests.servers import free_port
from tests.services.installation import ROOT, kill
from tests.services.sites import wait_until_it_answers


def shipped() -> str:
    """Return the configuration that the project ships."""
    return (ROOT / "deploy" / "nginx.conf").read_text()


@contextmanager
def nginx_before(port: int, folder: Path, text: str) -> Iterator[int]:
    """Run nginx in front of the site at a port, and yield nginx's own port.

    `text` is the configuration that the project ships, or a variant of it; only its ports and
    folders are changed. Messages go to `folder/messages`.
    """
    own = free_port()
    for given, here in (
        ("web:8000", f"127.0.0.1:{port}"),
        ("listen 8080", f"listen 127.0.0.1:{own}"),
        ("/tmp/", f"{folder}/"),  # noqa: S108
    ):
        assert given in text
        text = text.replace(given, here)
    with nginx(folder, text, own):
        yield own


@contextmanager
def nginx(folder: Path, text: str, port: int) -> Iterator[None]:
    """Run nginx with a configuration that listens on a port. Messages go to `folder/messages`."""
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    need(program is not None, "nginx: apt-get install nginx-light")
    assert program
    folder.mkdir(exist_ok=True)
    (folder / "nginx.conf").write_text(text)
    # If root starts nginx, its workers would run as a user who cannot write to the test's folder.
    user = "user root; " if os.geteuid() == 0 else ""
    words = [program, "-c", str(folder / "nginx.conf"), "-g", f"{user}daemon off;"]
    with (folder / "messages").open("wb") as messages:
        process = subprocess.Popen(words, start_new_session=True, stdout=messages, stderr=messages)
    try:
        wait_until_it_answers(process, port)
        yield
    finally:
        kill(process)
