"""Previews of files that are expensive to open, which must not keep visitors waiting."""

from __future__ import annotations

import io
import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from tests.services.installation import Installation
from tests.services.sites import BOUNDARY, browser_at, form_with_file, site_of
from tests.services.slow_connections import longest_wait

pytestmark = [pytest.mark.services, pytest.mark.timeout(600)]

AUDIT = os.environ.get("DPGEO_AUDIT") == "1"

FILES, COLUMNS = (10, 20_000) if AUDIT else (3, 9_000)

MAX_SECONDS = 1.0
AT_A_TIME = 2


def wide(columns: int, megabytes: int = 10) -> bytes:
    """Return a Parquet file with many columns, of about the given size."""
    import pyarrow
    import pyarrow.parquet

    random = np.random.default_rng(1)
    rows = 25 * megabytes * 800 // columns
    table = pyarrow.table({f"c{number}": random.uniform(size=rows) for number in range(columns)})
    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file)
    return file.getvalue()


@pytest.mark.parametrize("installation", ["embedded"], indirect=True)
def test_previews_of_wide_files_do_not_keep_visitors_waiting(installation: Installation) -> None:
    facts = installation.ask("house", datasets=FILES)
    content = form_with_file("wide.parquet", wide(COLUMNS))

    def send(slug: str) -> Any:
        kind = f"multipart/form-data; boundary={BOUNDARY}"
        address = f"/desk/datasets/{slug}/upload/"
        site = browser_at(port, facts)
        return site.ask("POST", address, content, Content_Type=kind)

    with site_of(installation) as port, ThreadPoolExecutor(FILES) as senders:
        longest_wait(port)
        sent = [senders.submit(send, slug) for slug in facts["slugs"]]
        longest, began = 0.0, time.monotonic()
        while not all(each.done() for each in sent):
            longest = max(longest, longest_wait(port, times=1))
            time.sleep(0.1)
        assert all(each.result().status == 302 for each in sent)
        preview = (time.monotonic() - began) * AT_A_TIME / FILES
    # A reader blocked by previews would wait for at least one whole preview, however slow the
    # machine is.
    assert longest < (MAX_SECONDS if AUDIT else max(MAX_SECONDS, preview / 2))
