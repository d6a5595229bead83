"""SQL fragments by which DuckDB bounds and counts a canonical file (`engine.duckdb_view`)."""

from __future__ import annotations

# The float64 operations are those of `Grid.locate`, in the same order, so that SQL and Python give
# the same cell. DuckDB sorts NaN above all numbers, so `column_number < $columns` drops it.
IN_CELLS = """
WITH located AS (
    SELECT *,
        floor((x - $west) / $cell) AS column_number,
        floor(($north - y) / $cell) AS row_number
    FROM read_parquet($path)
    WHERE person_high BETWEEN $first_person::UBIGINT AND $last_person::UBIGINT
), rows_in_regions AS (
    SELECT *,
        TRY_CAST(row_number * $columns + column_number AS UBIGINT) AS cell
    FROM located
    WHERE column_number >= 0 AND column_number < $columns
        AND row_number >= 0 AND row_number < $rows
)"""

IN_ZONES = """
WITH rows_in_regions AS (
    SELECT * REPLACE (cell::UBIGINT AS cell) FROM read_parquet($path)
    WHERE person_high BETWEEN $first_person::UBIGINT AND $last_person::UBIGINT
)"""

UNDIVIDED = """, rows_inside AS (SELECT * FROM rows_in_regions)"""

# `make_timestamptz` cannot overflow: times in canonical files are within the years 1000 to 2999.
TIMED = """, rows_sliced AS (
    SELECT *, $slices[
        1 + 24 * (extract(isodow FROM local) - 1) + extract(hour FROM local)]::UBIGINT AS slice
    FROM (
        SELECT *, timezone($time_zone, make_timestamptz(time * 1000000)) AS local
        FROM rows_in_regions WHERE time IS NOT NULL
    )
)"""

UNTIMED = """, rows_sliced AS (SELECT *, 0::UBIGINT AS slice FROM rows_in_regions)"""

DIVIDED = """, rows_inside AS (
    SELECT * REPLACE (cell + $grid_size::UBIGINT * slice AS cell) FROM rows_sliced
)"""

CATEGORISED = """, rows_inside AS (
    SELECT * REPLACE (
        cell + $grid_size::UBIGINT * ($times::UBIGINT * {column} + slice) AS cell
    ) FROM rows_sliced
)"""

CLOCK = """
SELECT timezone($time_zone, make_timestamptz(0))"""

VISITS = """, items AS (
    SELECT person_high, person_low, cell,
        hash(hash($salt_high::UBIGINT, $salt_low::UBIGINT,
            person_high, person_low, x, y, time, cell)) AS word
    FROM rows_inside
)"""

# All rows of a person in one region have equal keys; DISTINCT_LIST keeps one of them.
PEOPLE = """, items AS (
    SELECT person_high, person_low, cell,
        hash(hash($salt_high::UBIGINT, $salt_low::UBIGINT, person_high, person_low, cell)) AS word
    FROM rows_inside
)"""

# Items for counts of zones if records are the privacy unit. The person columns then hold the
# record's index in the file (`zoned.write_zoned`). The hash must not use that index; otherwise, the
# zones sampled for a record would depend on the records before it in the file.
RECORDS = """, items AS (
    SELECT person_high, person_low, cell,
        hash(hash($salt_high::UBIGINT, $salt_low::UBIGINT, x, y, time, cell)) AS word
    FROM rows_inside
)"""

# Items for averages. `step` is the value of a row, as the number of one of the measure's evenly
# spaced steps (`core.measures`). The hash does not use it, so rows that differ only in their value
# have the same hash. A key's low bits hold the region and then the value, so such rows are ordered
# by value.
VALUED = """, rows_valued AS (
    SELECT *, {column} AS step FROM rows_inside WHERE {column} IS NOT NULL
)"""

VALUED_VISITS = """, items AS (
    SELECT person_high, person_low, cell, step,
        hash(hash($salt_high::UBIGINT, $salt_low::UBIGINT,
            person_high, person_low, x, y, time, cell)) AS word
    FROM rows_valued
)"""

# A person's value in a region is the mean of the person's rows there, rounded half up.
VALUED_PEOPLE = """, items AS (
    SELECT person_high, person_low, cell, (2 * total + rows) // (2 * rows) AS step,
        hash(hash($salt_high::UBIGINT, $salt_low::UBIGINT, person_high, person_low, cell)) AS word
    FROM (
        SELECT person_high, person_low, cell, sum(step)::BIGINT AS total, count(*) AS rows
        FROM rows_valued GROUP BY person_high, person_low, cell
    )
)"""

VALUED_RECORDS = """, items AS (
    SELECT person_high, person_low, cell, step,
        hash(hash($salt_high::UBIGINT, $salt_low::UBIGINT, x, y, time, cell)) AS word
    FROM rows_valued
)"""

VALUED_KEYS = """, keyed AS (
    SELECT person_high, person_low,
        (word & $hash_bits::UBIGINT) | (cell * $values::UBIGINT + step::UBIGINT) AS key
    FROM items
)"""

# Returns the number of values and their sum for each region. Both must come from one sample
# (`privacy.value_shares`), so it is a single query.
SUM_SAMPLED = """
SELECT item // $values::UBIGINT AS cell, count(*) AS amount,
    sum(item % $values::UBIGINT)::BIGINT AS total
FROM (SELECT unnest(keys) & $cell_bits::UBIGINT AS item FROM sampled)
GROUP BY item // $values::UBIGINT"""

SUM_ROWS = """
SELECT cell, count(*) AS amount, sum(step)::BIGINT AS total FROM rows_valued GROUP BY cell"""

# For histograms: each pair of a region and an interval of values (a bin) is counted like a region.
BIN_SAMPLED = """
SELECT item // $values::UBIGINT * $bins::UBIGINT + least(
        item % $values::UBIGINT * $bins::UBIGINT // ($values::UBIGINT - 1), $bins::UBIGINT - 1
    ) AS binned, count(*) AS amount
FROM (SELECT unnest(keys) & $cell_bits::UBIGINT AS item FROM sampled)
GROUP BY binned"""

BIN_ROWS = """
SELECT cell * $bins::UBIGINT + least(
        step::UBIGINT * $bins::UBIGINT // ($values::UBIGINT - 1), $bins::UBIGINT - 1
    ) AS binned, count(*) AS amount
FROM rows_valued GROUP BY binned"""

RANDOM = """, keyed AS (
    SELECT person_high, person_low, (word & $hash_bits::UBIGINT) | cell AS key FROM items
)"""

# The index of an item's region in the table of popularity ranks is computed in integers, as in
# `RankTable.of_cells`.
POPULAR = """, keyed AS (
    SELECT person_high, person_low, rank | (word & $hash_bits::UBIGINT) | cell AS key
    FROM items JOIN ranks ON ranks.place =
        (2 * (cell % $grid_size::UBIGINT // $columns::UBIGINT) + 1)
                * $rank_rows::UBIGINT // (2 * $rows::UBIGINT)
            * $rank_columns::UBIGINT
        + (2 * (cell % $columns::UBIGINT) + 1) * $rank_columns::UBIGINT // (2 * $columns::UBIGINT)
)"""

HEAP = """, sampled AS (
    SELECT person_high, person_low, min(key, $bound) AS keys
    FROM keyed GROUP BY person_high, person_low
)"""

LIST = """, sampled AS (
    SELECT person_high, person_low, list_slice(list_sort(list(key)), 1, $bound) AS keys
    FROM keyed GROUP BY person_high, person_low
)"""

# Duplicates are removed from each person's list of keys. This takes less time, and half as much
# memory, as finding distinct pairs of a person and a region first.
DISTINCT_LIST = """, sampled AS (
    SELECT person_high, person_low,
        list_slice(list_sort(list_distinct(list(key))), 1, $bound) AS keys
    FROM keyed GROUP BY person_high, person_low
)"""

PERSON_SAMPLED = """
SELECT person, unnest(keys) & $cell_bits::UBIGINT AS cell
FROM (SELECT row_number() OVER () - 1 AS person, keys FROM sampled)"""

PERSON_ROWS = """
SELECT row_number() OVER () - 1 AS person, cell FROM rows_inside"""

COUNT_SAMPLED = """
SELECT cell, count(*) AS amount
FROM (SELECT unnest(keys) & $cell_bits::UBIGINT AS cell FROM sampled)
GROUP BY cell"""

COUNT_ROWS = """
SELECT cell, count(*) AS amount FROM rows_inside GROUP BY cell"""

OF_EACH_PERSON = """, places AS (
    SELECT person_high, person_low, count(*) AS visits
    FROM rows_inside GROUP BY person_high, person_low, cell
), people AS (
    SELECT count(*) AS sightings, sum(visits) AS visits
    FROM places GROUP BY person_high, person_low
)"""

# Each person's contributions to a total are clipped before they are added up (`privacy.totals`).
TOTALS = """
SELECT count(*) AS people,
    coalesce(sum(least(sightings, $most_sightings)), 0)::BIGINT AS sightings,
    coalesce(sum(least(visits, $most_visits)), 0)::BIGINT AS visits
FROM people"""

# Counts how many people have one contribution, two and so on, for a private choice of the bound.
SIGHTINGS_OF_EACH = """
SELECT least(sightings, $most_contributions + 1) AS contributions, count(*) AS people
FROM people GROUP BY contributions"""

VISITS_OF_EACH = """
SELECT least(visits, $most_contributions + 1) AS contributions, count(*) AS people
FROM people GROUP BY contributions"""

SIZES = """
SELECT count(*), approx_count_distinct(person_high) FROM read_parquet($path)"""

# These queries keep account of what each person may still add to a series (`engine.series_view`).
SPENT = """
CREATE TEMP TABLE spent (person_high UBIGINT, person_low UBIGINT, used BIGINT)"""

READ_SPENT = """
INSERT INTO spent SELECT person_high, person_low, used FROM read_parquet($before)"""

USED = """
CREATE TEMP TABLE used (person_high UBIGINT, person_low UBIGINT, used BIGINT)"""

ALLOWED = """, allowed AS (
    SELECT person_high, person_low,
        list_slice(
            list_sort(keys), 1, greatest($allowance::BIGINT - coalesce(used, 0), 0)
        ) AS keys
    FROM sampled ANTI JOIN erased USING (person_high, person_low)
        LEFT JOIN spent USING (person_high, person_low)
)
SELECT * FROM allowed"""

KEEP_ALLOWED = """
CREATE OR REPLACE TEMP TABLE allowed AS"""

KEEP_USED = """
INSERT INTO used SELECT person_high, person_low, len(keys) FROM allowed WHERE len(keys) > 0"""

COUNT_ALLOWED = """
SELECT cell, count(*) AS amount
FROM (SELECT unnest(keys) & $cell_bits::UBIGINT AS cell FROM allowed)
GROUP BY cell"""

WRITE_USED = """
COPY (
    SELECT person_high, person_low, least(sum(used), {allowance})::BIGINT AS used
    FROM (
        SELECT * FROM spent UNION ALL SELECT * FROM used
        UNION ALL SELECT person_high, person_low, {allowance} FROM erased
    )
    GROUP BY person_high, person_low ORDER BY person_high, person_low
) TO '{path}' (FORMAT parquet, COMPRESSION zstd)"""

# These queries list the distinct persons of rows that Spark counts, file by file
# (`engine.people_file`).
PEOPLE_SEEN = """
CREATE TEMP TABLE seen (person_high UBIGINT, person_low UBIGINT)"""

SEE_PEOPLE = """
INSERT INTO seen SELECT DISTINCT person_high, person_low FROM streamed_rows"""

DISTINCT_PEOPLE = """
SELECT DISTINCT person_high, person_low FROM seen"""
