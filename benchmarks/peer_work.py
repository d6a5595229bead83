"""Bounded, noisy counts by other libraries: `python peer_work.py PEER FILE CELLS BOUND`.

This program runs in an environment of the peer's own, and therefore imports nothing of dpgeo. FILE
is Parquet with the columns `person` and `cell`, both int64. Every peer releases the number of rows
in each of CELLS x CELLS cells with epsilon 1, of at most BOUND rows a person. It prints, as one
line of JSON, processor time in seconds and the largest memory in MiB; reading the file is included,
loading the libraries is not.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Peer = Callable[[str, int, int], Callable[[], int]]
"""Function that loads a library and returns a function that does the work.

Only the second one is timed. It returns the number of counts that it has released.
"""


def opendp_polars(path: str, cells: int, bound: int) -> Callable[[], int]:
    """OpenDP's Context interface on Polars, which bounds each person's rows itself."""
    import opendp.prelude as dp
    import polars as pl
    from opendp.extras.polars import dp_len

    dp.enable_features("contrib")

    def work() -> int:
        context = dp.Context.compositor(
            data=pl.scan_parquet(path),
            privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("person")),
            privacy_loss=dp.loss_of(epsilon=1.0),
            split_evenly_over=1,
        )
        keys = pl.LazyFrame({"cell": pl.int_range(cells * cells, eager=True)})
        query = context.query().truncate_per_group(bound).group_by("cell")
        counts = query.agg(dp_len(signed=True)).with_keys(keys).release().collect()
        return len(counts)

    return work


def pipelinedp(path: str, cells: int, bound: int) -> Callable[[], int]:
    """PipelineDP without Beam or Spark; one bound limits a person's rows in all cells together."""
    import pipeline_dp as pdp

    def work() -> int:
        table = _read(path)
        rows = list(zip(table["person"].to_pylist(), table["cell"].to_pylist(), strict=True))
        accountant = pdp.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-12)
        counts = pdp.DPEngine(accountant, pdp.LocalBackend()).aggregate(
            rows,
            pdp.AggregateParams(
                metrics=[pdp.Metrics.COUNT],
                noise_kind=pdp.NoiseKind.LAPLACE,
                max_contributions=bound,
            ),
            pdp.DataExtractors(
                privacy_id_extractor=lambda row: row[0],
                partition_extractor=lambda row: row[1],
                value_extractor=lambda row: 0,
            ),
            public_partitions=range(cells * cells),
        )
        accountant.compute_budgets()
        return sum(1 for _ in counts)

    return work


def diffprivlib(path: str, cells: int, bound: int) -> Callable[[], int]:
    """Histogram by diffprivlib, which protects one row; rows are bounded here, by NumPy."""
    import numpy as np
    from diffprivlib import tools

    def work() -> int:
        table = _read(path)
        person, cell = (table[name].to_numpy() for name in ("person", "cell"))
        order = np.lexsort((np.random.default_rng().random(len(person)), person))
        person, cell = person[order], cell[order]
        starts = np.flatnonzero(np.r_[True, person[1:] != person[:-1]])
        rank = np.arange(len(person)) - np.repeat(starts, np.diff([*starts, len(person)]))
        kept = cell[rank < bound]
        counts, *_ = tools.histogram2d(
            kept // cells,
            kept % cells,
            epsilon=1 / bound,
            bins=cells,
            range=[(0, cells), (0, cells)],
        )
        return int(counts.size)

    return work


def _read(path: str) -> Any:
    import pyarrow.parquet as pq

    return pq.read_table(path)


PEERS: dict[str, Peer] = {
    "opendp-polars": opendp_polars,
    "pipelinedp": pipelinedp,
    "diffprivlib": diffprivlib,
}


def _largest_memory() -> int:
    # `ru_maxrss` would include the memory of the process that started this one, since this process
    # began as a copy of it.
    status = Path("/proc/self/status").read_text().splitlines()
    lines = dict(line.split(":", 1) for line in status)
    return int(lines["VmHWM"].split()[0]) >> 10


def main() -> None:
    """Run the library that the command line names; print its processor time and memory."""
    name, path, cells, bound = sys.argv[1:]
    work = PEERS[name](path, int(cells), int(bound))
    began = time.process_time()
    counts = work()
    cost = {
        "processor_s": time.process_time() - began,
        "memory_mib": _largest_memory(),
    }
    if counts != int(cells) ** 2:
        raise ValueError("A peer does not return every cell.")
    print(json.dumps(cost))


if __name__ == "__main__":
    main()
