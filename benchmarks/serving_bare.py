"""Reference application for `serving`: a file of the site from memory, without Django."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

BODY = Path(os.environ["DPGEO_BARE_BODY"]).read_bytes()


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer every request with the bytes of BODY (WSGI, PEP 3333)."""
    del environ
    start_response("200 OK", [("Content-Length", str(len(BODY)))])
    return [BODY]
