"""SQL by which another engine locates, bounds and counts the rows of a table itself.

Every engine does the same, row by row, and exactly: degrees are compared with the edges of a
grid's columns and rows (`edges_of`), which are computed here, so no engine projects anything; and
items are chosen by a hash of whole numbers, in arithmetic modulo the prime 2^31 - 1, whose products
fit into signed numbers of 64 bits. So no expression can overflow or fail, whatever the rows hold.

Contribution bounding. The items of a person are the distinct cells in which they were, if people
are counted, or else their rows, as pairs of a cell and a number from 1 to the number of rows there.
(The rows of one person in one cell are alike for a count of cells, so they need no other name.) An
item's hash mixes a number `draw` with the person, the cell and that number, and the `bound` items
with the smallest hashes are counted; equal hashes are ordered by cell.

Privacy argument. For any fixed `draw`, a person's sample is a function of that person's own rows,
so the counts change by at most `bound` in total if a person is removed. This holds whoever knows
`draw`, and whatever the quality of the hash: who knows it can at most choose which of their own
rows count. Therefore `draw` is public, nothing secret stands in a query, and the secret salt and
the key of the person hashes never leave this process. Persons are grouped by the whole identifier
that the source has, never by the hash. Nothing here draws noise.

The hash absorbs one number after the other: s <- (s + number)^5 mod 2^31 - 1. The fifth power is a
permutation, because 5 does not divide 2^31 - 2; MiMC (Albrecht et al. 2016) is built of such rounds
in larger fields. It need not be secure, only spread people's choices evenly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpgeo.core.guarantees import Counting, Unit
from dpgeo.spatial.grid import Grid
from dpgeo.spatial.projection import MERCATOR_RADIUS_METRES, to_degrees, to_mercator

PRIME = (1 << 31) - 1
OTHER_PRIME = (1 << 31) - 19
"""Primes below 2^31. Together, the residues of whole numbers of 62 bits tell them apart."""

NEAR_DEGREES = 1e-9
"""An edge in degrees lies within this distance of its projection back to degrees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What engines write differently.

    `located` is SQL for rows with their column and row, counted from 1 from the west and from the
    south, of `{rows}`, which has the columns person, longitude and latitude. `copies` makes of each
    person, cell and number of rows as many items. `fence` at the end of a subquery keeps an engine
    from computing its expressions anew wherever they are used. `text_word` gives a whole number
    below 2^28 from the `start`-th hexadecimal digit of a text's SHA-256.
    """

    located: str
    copies: str
    text_word: Callable[[int], str]
    fence: str = ""


POSTGRESQL = Dialect(
    located="""
    SELECT person,
        width_bucket(longitude, $1::float8[])::bigint AS easting,
        width_bucket(latitude, $2::float8[])::bigint AS northing
    FROM ({rows}) AS source_rows""",
    copies="""
    SELECT person, cell, copy FROM grouped, generate_series(1::bigint, amount) AS copies (copy)""",
    text_word=lambda start: (
        "('x' || substr(encode(sha256(convert_to(person, 'UTF8')), 'hex'), "
        f"{start}, 7))::bit(28)::integer::bigint"
    ),
    fence=" OFFSET 0",
)

BY_EDGES = """
    SELECT person, eastings.number AS easting, northings.number AS northing
    FROM ({rows}) AS source_rows
        JOIN eastings ON longitude >= eastings.low AND longitude < eastings.high
        JOIN northings ON latitude >= northings.low AND latitude < northings.high"""
"""Location by joins with tables of the edges, for engines without `width_bucket` of lists."""

DUCKDB = Dialect(
    located=BY_EDGES,
    copies="""
    SELECT person, cell, unnest(range(1, amount + 1)) AS copy FROM grouped""",
    text_word=lambda start: f"('0x' || substr(sha256(person), {start}, 7))::BIGINT",
)

SPARK = Dialect(
    located=BY_EDGES,
    copies="""
    SELECT person, cell, explode(sequence(1L, amount)) AS copy FROM grouped""",
    text_word=lambda start: (
        f"CAST(conv(substr(sha2(CAST(person AS BINARY), 256), {start}, 7), 16, 10) AS BIGINT)"
    ),
)


def counting_query(
    dialect: Dialect,
    rows: str,
    grid: Grid,
    *,
    unit: Unit,
    counting: Counting,
    bound: int,
    draw: int,
    text: bool,
) -> str:
    """Return SQL whose result has the columns cell and amount, both whole numbers.

    `rows` is a query with the columns person, longitude and latitude, without nulls. `text` says
    whether persons are texts, which the engine must compare byte by byte, or else whole numbers of
    64 bits; if records are the privacy unit, persons are not looked at. `draw` is a public number
    below 2^62.
    """
    cell = f"CAST({grid.rows} AS BIGINT) * {grid.columns} - northing * {grid.columns} + easting - 1"
    inside = f"easting BETWEEN 1 AND {grid.columns} AND northing BETWEEN 1 AND {grid.rows}"
    located = f"located AS ({dialect.located.format(rows=rows)}\n)"
    celled = f"celled AS (\n    SELECT person, {cell} AS cell FROM located WHERE {inside}\n)"
    if unit is Unit.RECORD:
        return (
            f"WITH {located}, {celled}\nSELECT cell, count(*) AS amount FROM celled GROUP BY cell"
        )
    grouped = (
        "grouped AS (\n    SELECT person, cell, count(*) AS amount FROM celled "
        "GROUP BY person, cell\n)"
    )
    copies = (
        "\n    SELECT person, cell, CAST(1 AS BIGINT) AS copy FROM grouped"
        if counting is Counting.PEOPLE
        else dialect.copies
    )
    words = [
        *_person_words(dialect, text=text),
        f"mod(cell, {PRIME})",
        f"mod(cell, {OTHER_PRIME})",
        f"mod(copy, {PRIME})",
        str(draw // PRIME % PRIME),
    ]
    keyed = _hashed("SELECT * FROM items", words, draw % PRIME, dialect.fence)
    return f"""WITH {located}, {celled}, {grouped}, items AS ({copies}
), keyed AS (
    {keyed}
)
SELECT cell, count(*) AS amount
FROM (
    SELECT cell, row_number() OVER (PARTITION BY person ORDER BY word, cell, copy) AS place
    FROM keyed
) AS placed
WHERE place <= {bound}
GROUP BY cell"""


def _person_words(dialect: Dialect, *, text: bool) -> list[str]:
    """Return SQL for two whole numbers, from 0 to 2^31, that follow from a person."""
    if text:
        return [dialect.text_word(1), dialect.text_word(8)]
    return [f"mod(mod(person, {p}) + {p}, {p})" for p in (PRIME, OTHER_PRIME)]


def _hashed(rows: str, words: Sequence[str], start: int, fence: str) -> str:
    """Return SQL for rows with the column word: the hash that absorbed all `words`."""
    query = f"SELECT person, cell, copy, CAST({start} AS BIGINT) AS word FROM ({rows}) AS start"
    for depth, number in enumerate(words):
        query = (
            f"SELECT person, cell, copy, mod(word + {number}, {PRIME}) AS word "
            f"FROM ({query}{fence}) AS added_{depth}"
        )
        square = f"mod(word * word, {PRIME})"
        fourth = f"mod({square} * {square}, {PRIME})"
        query = (
            f"SELECT person, cell, copy, mod({fourth} * word, {PRIME}) AS word "
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
        """Return the number, the least longitude and the least one beyond of each column."""
        return _intervals(self.longitudes)

    def rows(self) -> list[tuple[int, float, float]]:
        """Return the number, the least latitude and the least one beyond of each row."""
        return _intervals(self.latitudes)


def edges_of(grid: Grid) -> Edges:
    """Return the least floats that `Grid.locate` places in each column and row, and beyond.

    So comparing a float with the edges gives the same cell as projecting it.
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
    """Return the least floats for which an ascending condition holds, each close to `near`."""
    low, high = near - NEAR_DEGREES, near + NEAR_DEGREES
    while (np.nextafter(low, high) < high).any():
        middle = low + (high - low) / 2
        holds = reached(middle)
        low, high = np.where(holds, low, middle), np.where(holds, middle, high)
    return high


def _intervals(edges: NDArray[np.float64]) -> list[tuple[int, float, float]]:
    ends = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    return [(number, low, high) for number, (low, high) in enumerate(ends, start=1)]
