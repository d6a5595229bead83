"""SQL by which another engine locates, bounds and counts the rows of a table itself.

Every engine does the same, row by row, and exactly: degrees are compared with the edges of a grid's
columns and rows, which `edges_of` computes, so no engine has to project positions; and items are
chosen by a hash of whole numbers, in arithmetic modulo the prime 2^31 - 1, whose products fit into
signed numbers of 64 bits. So no expression can overflow or fail, whatever the rows hold.
(Rows are located in zones and places by `engine.source_zones`.)

Contribution bounding. If people are counted, a person's items are the distinct cells in which the
person was. If visits are counted, they are the person's rows, each given by its cell and a number
from 1 to the number of the person's rows there. (Rows of one person in one cell add the same to the
counts, so such a number is enough.) An item's hash mixes a number `draw` with the person, the cell
and that number, and the `bound` items with the smallest hashes are counted; equal hashes are
ordered by cell. With popular bounding, items are ordered first by the rank of their cell.

Records. If records are the privacy unit and may be in several regions, each is counted in the one
with the smallest hash of the record's own content (`CONTENT`) and the region. The person column
then has a number that tells records apart. It must not enter the hash, because it depends on other
rows.

Averages. A row's value is a `step`, the number of one of a measure's evenly spaced values
(`core.measures`). If visits are averaged, the rows of a person in a cell are numbered in the order
of their steps; if people are, a person's value there is the mean, rounded half up. The hash does
not use steps, as in `engine.counting_sql`. Totals need no choice: what each person adds is clipped.

Privacy argument. For any fixed `draw`, a person's sample is a function of that person's own rows,
so the counts change by at most `bound` in total if a person is removed. This holds even if
everybody knows `draw`, and whatever the quality of the hash: somebody who knows `draw` can at most
influence which of their own rows count. Therefore `draw` is public, queries contain nothing secret,
and the secret salt and the key of the person hashes never leave this process. Persons are grouped
by the whole identifier that the source has, never by the hash. Nothing here draws noise.

The hash absorbs one number after the other: s <- (s + number)^5 mod 2^31 - 1. The fifth power is a
permutation, because 5 does not divide 2^31 - 2; MiMC (Albrecht et al. 2016) is built of such rounds
in larger fields. It need not be secure, only spread people's choices evenly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.guarantees import Counting, Unit
from dpgeo.privacy.bounding import RankTable
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import MERCATOR_RADIUS_METRES, to_degrees, to_mercator

PRIME = (1 << 31) - 1
OTHER_PRIME = (1 << 31) - 19
"""A prime below 2^31, other than 2^31 - 1.

A whole number below the product of both primes, almost 2^62, is determined by its residues modulo
them.
"""

AFTER_NO_TIME = 1 << 40
"""Seconds added to each time before it is hashed, so that every accepted time is positive.

The number 0 is then free for rows without a time.
"""

NEAR_DEGREES = 1e-9
"""Largest rounding error, in degrees, of an edge that is converted from metres to degrees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """SQL expressions that differ between engines.

    `located` is SQL for the rows of `{rows}` with two more columns: the numbers of the grid's
    column and row in which each lies, counted from 1 from the west and from the south. `{rows}` has
    the columns person, longitude and latitude, and those that `{also}` names. `{eastings}` and
    `{northings}` are the edges: lists of numbers, or names of tables. `copies` turns each triple of
    person, cell and number of rows in `{grouped}` into that many items. `fence`, put at the end of
    a subquery, keeps an engine from computing the subquery's expressions again wherever they are
    used. `text_word(start)` is a whole number below 2^28, read from the hexadecimal digits of a
    text's SHA-256 from the `start`-th on. `quotient` is the whole part of a quotient of two whole
    numbers that are not negative.
    """

    located: str
    copies: str
    text_word: Callable[[int], str]
    quotient: Callable[[str, str], str]
    fence: str = ""


POSTGRESQL = Dialect(
    located="""
    SELECT person{also},
        width_bucket(longitude, {eastings})::bigint AS easting,
        width_bucket(latitude, {northings})::bigint AS northing
    FROM ({rows}) AS source_rows""",
    copies="""
    SELECT person, cell, copy
    FROM {grouped}, generate_series(1::bigint, amount) AS copies (copy)""",
    text_word=lambda start: (
        "('x' || substr(encode(sha256(convert_to(person, 'UTF8')), 'hex'), "
        f"{start}, 7))::bit(28)::integer::bigint"
    ),
    quotient=lambda one, other: f"({one}) / ({other})",
    fence=" OFFSET 0",
)

BY_EDGES = """
    SELECT person{also}, eastings.number AS easting, northings.number AS northing
    FROM ({rows}) AS source_rows
        JOIN {eastings} AS eastings ON longitude >= eastings.low AND longitude < eastings.high
        JOIN {northings} AS northings ON latitude >= northings.low AND latitude < northings.high"""
"""SQL that locates rows by joining them with tables of the grid's edges.

It is for engines whose `width_bucket` does not take a list of edges.
"""

DUCKDB = Dialect(
    located=BY_EDGES,
    copies="""
    SELECT person, cell, unnest(range(1, amount + 1)) AS copy FROM {grouped}""",
    text_word=lambda start: f"('0x' || substr(sha256(person), {start}, 7))::BIGINT",
    quotient=lambda one, other: f"({one}) // ({other})",
)

SPARK = Dialect(
    located=BY_EDGES,
    copies="""
    SELECT person, cell, explode(sequence(1L, amount)) AS copy FROM {grouped}""",
    text_word=lambda start: (
        f"CAST(conv(substr(sha2(CAST(person AS BINARY), 256), {start}, 7), 16, 10) AS BIGINT)"
    ),
    quotient=lambda one, other: f"({one}) div ({other})",
)


class Wanted(StrEnum):
    """What a query returns of the bounded contributions, as columns of whole numbers.

    COUNTS has cell and amount; PAIRS has person (numbered from 0) and cell; SUMS has cell, amount
    (the number of values) and total (their sum, in a measure's steps); BINS has binned (the index
    of a pair of a region and a bin, an interval of values) and amount; TOTALS has people, sightings
    and visits; CONTRIBUTIONS has contributions and people, the number of people with so many
    contributions.
    """

    COUNTS = "counts"
    PAIRS = "pairs"
    SUMS = "sums"
    BINS = "bins"
    TOTALS = "totals"
    CONTRIBUTIONS = "contributions"


CONTENT = ("east", "north", "moment")
"""Columns of whole numbers by which a record is hashed: its position and its time.

They are needed only if records are the privacy unit and may be in several regions.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """How contributions are chosen: `draw` is a public number below 2^62.

    `text` says whether persons are texts, which the engine must compare byte by byte, or else whole
    numbers of 64 bits; if records are the privacy unit, persons are ignored. `rank` is SQL for the
    popularity rank of the column cell, "" for random bounding. `several` says whether a record may
    be in several regions; the located rows then have the columns of `CONTENT`.
    """

    unit: Unit
    counting: Counting
    bound: int
    draw: int
    text: bool
    rank: str = ""
    several: bool = False


def cells_query(
    dialect: Dialect,
    rows: str,
    grid: Grid,
    *,
    also: Sequence[str] = (),
    eastings: str = "eastings",
    northings: str = "northings",
) -> str:
    """Return SQL for the columns person, cell and those named by `also`, of the rows in a grid.

    `rows` is a query with the columns person, longitude and latitude, without nulls. If `also` has
    "slice", a whole number or null, cells are numbered slice by slice, and a row whose slice is
    null is in no cell. `eastings` and `northings` are explained at `Dialect`.
    """
    cell = f"CAST({grid.rows} AS BIGINT) * {grid.columns} - northing * {grid.columns} + easting - 1"
    inside = f"easting BETWEEN 1 AND {grid.columns} AND northing BETWEEN 1 AND {grid.rows}"
    located = dialect.located.format(
        rows=rows, also=listed_also(also), eastings=eastings, northings=northings
    )
    return sliced_query(located, cell, grid.size, also=also, where=inside)


def sliced_query(
    located: str, cell: str, size: int, *, also: Sequence[str] = (), where: str = "true"
) -> str:
    """Return SQL for `located` rows, with the columns person, cell and the columns in `also`.

    The argument `cell` is SQL for the index of a row's region among `size` regions. If `also` has
    "slice", the column cell numbers the pairs of a slice and a region, slice by slice.
    """
    if "slice" in also:
        cell, where = f"slice * {size} + {cell}", f"{where} AND slice IS NOT NULL"
    kept = listed_also([name for name in also if name != "slice"])
    return (
        f"SELECT person, CAST({cell} AS BIGINT) AS cell{kept} "
        f"FROM ({located}\n) AS located WHERE {where}"
    )


def listed_also(also: Sequence[str]) -> str:
    """Return SQL that appends columns to a list of columns: a comma and the name of each."""
    return "".join(f", {name}" for name in also)


def answer_query(
    dialect: Dialect,
    celled: str,
    wanted: Wanted,
    sample: Sample,
    *,
    steps: int = 0,
    bins: int = 0,
    sightings: int = 0,
    visits: int = 0,
    contributions: int = 0,
) -> str:
    """Return SQL that bounds the contributions of located rows and returns what is `wanted`.

    `celled` is a query for the rows with the columns person and cell, a whole number; for SUMS and
    BINS also step, the row's value as a whole number from 0 to `steps`, or null for rows without a
    value. `bins` is the number of intervals into which the range of values is divided; `sightings`
    and `visits` are the most that a person adds to TOTALS; people with more than `contributions`
    contributions are counted together.
    """
    if wanted in (Wanted.TOTALS, Wanted.CONTRIBUTIONS):
        people = f"""SELECT count(*) AS sightings, CAST(sum(amount) AS BIGINT) AS visits FROM (
    SELECT person, count(*) AS amount FROM ({celled}) AS celled GROUP BY person, cell
) AS places GROUP BY person"""
        if wanted is Wanted.TOTALS:
            clipped = ", ".join(
                f"CAST(coalesce(sum(least({name}, {limit})), 0) AS BIGINT) AS {name}"
                for name, limit in (("sightings", sightings), ("visits", visits))
            )
            return f"SELECT count(*) AS people, {clipped} FROM ({people}) AS people"
        of_each = "sightings" if sample.counting is Counting.PEOPLE else "visits"
        return (
            f"SELECT least({of_each}, {contributions + 1}) AS contributions, count(*) AS people "
            f"FROM ({people}) AS people GROUP BY 1"
        )
    valued = wanted in (Wanted.SUMS, Wanted.BINS)
    kept = _kept_query(dialect, celled, sample, valued=valued)
    if wanted is Wanted.PAIRS:
        number = "dense_rank() OVER (ORDER BY person)"
        if sample.unit is Unit.RECORD:
            number = "row_number() OVER ()"
        return f"SELECT {number} - 1 AS person, cell FROM ({kept}) AS kept"
    if wanted is Wanted.SUMS:
        return (
            "SELECT cell, count(*) AS amount, CAST(sum(step) AS BIGINT) AS total "
            f"FROM ({kept}) AS kept GROUP BY cell"
        )
    if wanted is Wanted.BINS:
        binned = f"least({dialect.quotient(f'step * {bins}', str(steps))}, {bins - 1})"
        return (
            f"SELECT cell * {bins} + {binned} AS binned, count(*) AS amount "
            f"FROM ({kept}) AS kept GROUP BY 1"
        )
    return f"SELECT cell, count(*) AS amount FROM ({kept}) AS kept GROUP BY cell"


def _kept_query(dialect: Dialect, celled: str, sample: Sample, *, valued: bool) -> str:
    """Return SQL for the contributions that are counted: person, cell and, if `valued`, value."""
    if valued:
        celled = f"SELECT * FROM ({celled}) AS valued WHERE step IS NOT NULL"
    if sample.unit is Unit.RECORD:
        if not sample.several:
            return celled
        columns = f"person, cell, CAST(1 AS BIGINT) AS copy{', step' if valued else ''}"
        items = f"SELECT {columns}{listed_also(CONTENT)} FROM ({celled}) AS celled"
        return _bounded_query(dialect, items, sample, also=", step" if valued else "")
    if not valued:
        grouped = (
            f"SELECT person, cell, count(*) AS amount FROM ({celled}) AS celled "
            "GROUP BY person, cell"
        )
        return _bounded_query(dialect, _items(dialect, grouped, sample.counting), sample)
    if sample.counting is Counting.PEOPLE:
        mean = dialect.quotient("2 * total + amount", "2 * amount")
        items = f"""SELECT person, cell, CAST(1 AS BIGINT) AS copy, {mean} AS step FROM (
    SELECT person, cell, count(*) AS amount, CAST(sum(step) AS BIGINT) AS total
    FROM ({celled}) AS celled GROUP BY person, cell
) AS means"""
    else:
        items = f"""SELECT person, cell, step,
    row_number() OVER (PARTITION BY person, cell ORDER BY step) AS copy
FROM ({celled}) AS celled"""
    return _bounded_query(dialect, items, sample, also=", step")


def sampling_query(
    dialect: Dialect, grouped: str, *, counting: Counting, bound: int, draw: int, text: bool
) -> str:
    """Return SQL for the bounded counts, with the columns cell and amount.

    `grouped` is a query with the columns person, cell and amount, each person and cell once; the
    cell is any whole number that names a region.
    """
    sample = Sample(unit=Unit.PERSON, counting=counting, bound=bound, draw=draw, text=text)
    kept = _bounded_query(dialect, _items(dialect, grouped, counting), sample)
    return f"SELECT cell, count(*) AS amount FROM ({kept}) AS kept GROUP BY cell"


def _items(dialect: Dialect, grouped: str, counting: Counting) -> str:
    """Return SQL for the items to choose from, with the columns person, cell and copy.

    `copy` is a number that tells apart a person's items in one cell.
    """
    if counting is Counting.PEOPLE:
        return f"SELECT person, cell, CAST(1 AS BIGINT) AS copy FROM ({grouped}) AS grouped"
    return dialect.copies.format(grouped=f"({grouped}) AS grouped")


def _bounded_query(dialect: Dialect, items: str, sample: Sample, *, also: str = "") -> str:
    """Return SQL for each person's items that are kept: person, cell and the columns of `also`."""
    several = sample.unit is Unit.RECORD
    who = [_residue(name, PRIME) for name in CONTENT]
    words = [
        *(who if several else _person_words(dialect, text=sample.text)),
        f"mod(cell, {PRIME})",
        f"mod(cell, {OTHER_PRIME})",
        f"mod(copy, {PRIME})",
        str(sample.draw // PRIME % PRIME),
    ]
    columns = f"person, cell, copy{also}{listed_also(CONTENT) if several else ''}"
    keyed = _hashed(items, columns, words, sample.draw % PRIME, dialect.fence)
    rank = f"{sample.rank}, " if sample.rank else ""
    return f"""SELECT person, cell{also} FROM (
    SELECT person, cell{also},
        row_number() OVER (PARTITION BY person ORDER BY {rank}word, cell, copy) AS place
    FROM ({keyed}) AS keyed
) AS placed
WHERE place <= {sample.bound}"""


def rank_query(dialect: Dialect, table: RankTable, grid: Grid | None, ranks: str) -> str:
    """Return SQL for the popularity rank of the column cell, from a list of all `ranks`.

    `grid` is the grid of the cells, without slices, or None for zones and places. A cell's index
    in the list is computed in whole numbers, exactly as `RankTable.of_cells` computes it.
    """
    if grid is None:
        return f"({ranks})[CAST(1 + mod(cell, {len(table.ranks)}) AS INTEGER)]"

    def coarse(fine: str, size: int, to: int) -> str:
        return dialect.quotient(f"(2 * ({fine}) + 1) * {to}", str(2 * size))

    row = coarse(
        dialect.quotient(f"mod(cell, {grid.size})", str(grid.columns)), grid.rows, table.rows
    )
    column = coarse(f"mod(cell, {grid.columns})", grid.columns, table.columns)
    return f"({ranks})[CAST(1 + ({row}) * {table.columns} + {column} AS INTEGER)]"


def reports_query(
    dialect: Dialect, rows: str, columns: Sequence[str], *, bound: int, draw: int, text: bool
) -> str:
    """Return SQL for `columns` of at most `bound` reports of each person, to be perturbed.

    `rows` has these columns, person, and seconds: a time, or null; all nulls count as one time.
    Reports are chosen as in `engine.reports`: a person's times are taken in the order of a
    hash, each with all of its reports, until the bound is reached. If not all reports of the last
    time fit, those with the smallest random numbers are kept, which the database draws anew for
    each row. So the choice never depends on positions, nor on the order of rows.
    """
    time = f"coalesce(seconds + {AFTER_NO_TIME}, 0)"
    words = [
        *_person_words(dialect, text=text),
        f"mod({time}, {PRIME})",
        f"mod({time}, {OTHER_PRIME})",
        str(draw // PRIME % PRIME),
    ]
    kept = ", ".join(columns)
    keyed = _hashed(rows, f"person, seconds, {kept}", words, draw % PRIME, dialect.fence)
    return f"""SELECT {kept} FROM (
    SELECT {kept}, row_number() OVER (
        PARTITION BY person ORDER BY word, seconds, gen_random_uuid()
    ) AS place
    FROM ({keyed}) AS keyed
) AS placed
WHERE place <= {bound}"""


def _person_words(dialect: Dialect, *, text: bool) -> list[str]:
    """Return SQL for the two whole numbers, from 0 to 2^31, that stand for a person in the hash."""
    if text:
        return [dialect.text_word(1), dialect.text_word(8)]
    return [_residue("person", prime) for prime in (PRIME, OTHER_PRIME)]


def _residue(number: str, prime: int) -> str:
    """Return SQL for a whole number modulo a prime; the result is never negative."""
    return f"mod(mod({number}, {prime}) + {prime}, {prime})"


def _hashed(rows: str, columns: str, words: Sequence[str], start: int, fence: str) -> str:
    """Return SQL for `columns` of rows, and a column "word" with the hash of all `words`."""
    query = f"SELECT {columns}, CAST({start} AS BIGINT) AS word FROM ({rows}) AS start"
    for depth, number in enumerate(words):
        query = (
            f"SELECT {columns}, mod(word + {number}, {PRIME}) AS word "
            f"FROM ({query}{fence}) AS added_{depth}"
        )
        square = f"mod(word * word, {PRIME})"
        fourth = f"mod({square} * {square}, {PRIME})"
        query = (
            f"SELECT {columns}, mod({fourth} * word, {PRIME}) AS word "
            f"FROM ({query}{fence}) AS raised_{depth}"
        )
    return query


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Edges of a grid in degrees, float64, ascending: `longitudes` (columns + 1,) and `latitudes`
    (rows + 1,).

    A position is in the k-th column, counted from 1, if exactly k edges are at most its longitude.
    Rows are counted in the same way, from the south.
    """

    longitudes: NDArray[np.float64]
    latitudes: NDArray[np.float64]

    def columns(self) -> list[tuple[int, float, float]]:
        """Return each column's number, counted from 1, and its western and eastern longitude."""
        return _intervals(self.longitudes)

    def rows(self) -> list[tuple[int, float, float]]:
        """Return each grid row's number, counted from 1, and its southern and northern latitude."""
        return _intervals(self.latitudes)


def edges_of(grid: Grid) -> Edges:
    """Return, for each column and row, the least degrees that `Grid.locate` places in it.

    The last entries are the least degrees beyond the grid. So comparing a position in degrees with
    the edges gives the same cell as projecting it.
    """
    columns, rows = np.arange(grid.columns + 1), np.arange(grid.rows + 1)
    x, y = grid.west + columns * grid.cell, grid.north - (grid.rows - rows) * grid.cell
    longitudes = to_degrees(x, 0)[0]
    latitudes = to_degrees(0, y)[1]
    return Edges(
        _least(longitudes, lambda each: _column(each, grid) >= columns),
        _least(latitudes, lambda each: _row(each, grid) < grid.rows - rows),
    )


def _column(longitude: NDArray[np.float64], grid: Grid) -> NDArray[np.float64]:
    x = MERCATOR_RADIUS_METRES * np.radians(longitude)
    return np.floor((x - grid.west) / grid.cell)


def _row(latitude: NDArray[np.float64], grid: Grid) -> NDArray[np.float64]:
    _, y = to_mercator(0.0, latitude)
    return np.floor((grid.north - y) / grid.cell)


def _least(
    near: NDArray[np.float64],
    reached: Callable[[NDArray[np.float64]], NDArray[np.bool_]],
) -> NDArray[np.float64]:
    """Return the least floats (n,) for which `reached` is true.

    They are searched within NEAR_DEGREES of the floats `near` (n,).
    """
    low, high = near - NEAR_DEGREES, near + NEAR_DEGREES
    while (np.nextafter(low, high) < high).any():
        middle = low + (high - low) / 2
        holds = reached(middle)
        low, high = np.where(holds, low, middle), np.where(holds, middle, high)
    return high


def _intervals(edges: NDArray[np.float64]) -> list[tuple[int, float, float]]:
    ends = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    return [(number, low, high) for number, (low, high) in enumerate(ends, start=1)]
