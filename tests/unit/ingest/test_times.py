"""Times in ISO 8601 or seconds since 1970, with a fixed rule for the hours of clock changes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpgeo.ingest.schema import Columns
from dpgeo.ingest.time_formats import TimeZone, _by_patterns, read_text
from dpgeo.ingest.times import EARLIEST, LATEST, local_to_utc
from tests.unit.ingest.helpers import csv_of, parquet_of, refused, schema

COLUMNS = Columns(longitude="lon", latitude="lat", person="who", time="t")
VIENNA = schema(COLUMNS, time_zone="Europe/Vienna")
NOON = int(datetime(2024, 7, 1, 12, tzinfo=UTC).timestamp())


def written(tmp_path: Path, *times: str) -> list[Any]:
    rows = "".join(f'a,45,5,"{time}"\n' for time in times)
    rows_read, report = csv_of(tmp_path, "who,lat,lon,t\n" + rows, VIENNA)
    assert report.refused == {}
    return list(rows_read["time"].to_pylist())


@pytest.mark.parametrize(
    "text",
    [
        "2024-07-01T12:00:00Z", "2024-07-01 12:00Z", "2024-07-01T14:00:00", "2024-07-01 14:00",
        "2024-07-01T12:00:00.999Z", "2024-07-01 12:00:00,5 UTC", "2024-07-01T17:30+05:30",
        "2024-07-01t12:00:00z", "2024-07-01T04:00:00-0800",
        str(NOON), f" {NOON}.75 ",
    ],
)  # fmt: skip
def test_the_ways_of_writing_a_time_agree(tmp_path: Path, text: str) -> None:
    assert written(tmp_path, text) == [NOON]


def test_a_date_begins_at_midnight_of_the_declared_zone(tmp_path: Path) -> None:
    assert written(tmp_path, "2024-07-01") == [NOON - 14 * 3600]


def test_seconds_are_rounded_down_before_1970_too(tmp_path: Path) -> None:
    assert written(tmp_path, "-0.5", "1969-12-31T23:59:59.5Z") == [-1, -1]


def test_a_time_that_occurs_twice_is_the_first_of_the_two(tmp_path: Path) -> None:
    twice = datetime(2024, 10, 27, 0, 30, tzinfo=UTC).timestamp()
    assert written(tmp_path, "2024-10-27 02:30") == [twice]


def test_a_skipped_time_is_read_with_the_offset_from_before(tmp_path: Path) -> None:
    assert (
        written(tmp_path, "2024-03-31 02:30", "2024-03-31 03:30")
        == [datetime(2024, 3, 31, 1, 30, tzinfo=UTC).timestamp()] * 2
    )


@settings(deadline=None)
@given(
    st.lists(st.integers(EARLIEST, LATEST), max_size=20),
    st.lists(st.integers(0, 86_400 * 365), max_size=20),
    st.sampled_from(
        ["Europe/Vienna", "America/New_York", "Australia/Lord_Howe", "America/St_Johns",
         "Africa/Casablanca", "Asia/Kathmandu", "Europe/Dublin", "Pacific/Apia", "UTC"]
    ),
)  # fmt: skip
def test_local_times_are_those_of_the_standard_library(
    anywhere: list[int], within_2024: list[int], name: str
) -> None:
    start = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp())
    local = np.array(anywhere + [start + second for second in within_2024], dtype=np.int64)
    expected = [
        datetime.fromtimestamp(int(second), UTC).replace(tzinfo=ZoneInfo(name)).timestamp()
        for second in local
    ]
    assert local_to_utc(local, name).tolist() == np.round(expected).tolist()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the time is missing"),
        ("yesterday", "the time is neither ISO 8601 nor seconds since 1970"),
        ("2024-02-30", "the time is neither ISO 8601 nor seconds since 1970"),
        ("2023-02-29 10:00", "the time is neither ISO 8601 nor seconds since 1970"),
        ("2024-13-01", "the time is neither ISO 8601 nor seconds since 1970"),
        ("2024-00-10", "the time is neither ISO 8601 nor seconds since 1970"),
        ("2024-01-01T48:00", "the time is neither ISO 8601 nor seconds since 1970"),
        ("2024-01-01T10:60", "the time is neither ISO 8601 nor seconds since 1970"),
        ("2024-01-01T10", "the time is neither ISO 8601 nor seconds since 1970"),
        ("2024-01-01T10:00+25:00", "the time is neither ISO 8601 nor seconds since 1970"),
        ("01/02/2024", "the time is neither ISO 8601 nor seconds since 1970"),
        ("nan", "the time is neither ISO 8601 nor seconds since 1970"),
        ("0000-01-01T00:00", "the time is outside the years 1000 to 2999"),
        ("9999-12-31", "the time is outside the years 1000 to 2999"),
        ("1719835200000", "the time is outside the years 1000 to 2999"),
    ],
)
def test_it_says_why_a_time_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    (found,) = refused(tmp_path, f"a,45,5,{text}", VIENNA)
    assert found.startswith(reason)


def test_a_time_that_is_not_declared_refuses_nothing(tmp_path: Path) -> None:
    assert refused(tmp_path, "a,45,5,yesterday") == {}


@pytest.mark.parametrize(
    "values",
    [
        pa.array([NOON], pa.int64()), pa.array([NOON], pa.int32()), pa.array([NOON + 0.9]),
        pa.array([NOON], pa.timestamp("s", "UTC")),
        pa.array([NOON * 1000 + 7], pa.timestamp("ms", "America/New_York")),
        pa.array([(NOON + 7200) * 10**6], pa.timestamp("us")),
        pa.array([(NOON + 7200) * 10**9], pa.timestamp("ns")),
        pa.array(["2024-07-01T14:00"]), pa.array([NOON]).dictionary_encode(),
    ],
)  # fmt: skip
def test_stored_times_agree_with_written_ones(tmp_path: Path, values: pa.Array) -> None:
    rows_read, _ = parquet_of(
        tmp_path, {"who": ["a"], "lat": [45], "lon": [5], "t": values}, VIENNA
    )
    assert rows_read["time"].to_pylist() == [NOON]


def test_stored_dates_begin_at_midnight_of_the_declared_zone(tmp_path: Path) -> None:
    day = pa.array([NOON // 86_400], pa.int32()).cast(pa.date32())
    for values in (day, day.cast(pa.date64())):
        columns = {"who": ["a"], "lat": [45], "lon": [5], "t": values}
        rows_read, _ = parquet_of(tmp_path, columns, VIENNA)
        assert rows_read["time"].to_pylist() == [NOON - 14 * 3600]


def test_missing_and_invalid_stored_times_are_refused(tmp_path: Path) -> None:
    times = [0.0, None, float("nan"), 1e300]
    columns = {"who": ["a"] * 4, "lat": [45] * 4, "lon": [5] * 4, "t": times}
    _, report = parquet_of(tmp_path, columns, VIENNA)
    assert list(report.refused.values()) == [1, 1, 1]
    assert report.accepted == 1


def test_timestamps_that_python_does_not_know_are_refused_with_an_example(tmp_path: Path) -> None:
    times = pa.array([2**62, -(2**62), 1], pa.timestamp("us", "UTC"))
    columns = {"who": ["a"] * 3, "lat": [45] * 3, "lon": [5] * 3, "t": times}
    rows_read, report = parquet_of(tmp_path, columns, VIENNA)
    assert rows_read["time"].to_pylist() == [0]
    assert [example.value for example in report.examples] == ["(a value that cannot be shown)"] * 2


def test_without_a_time_column_times_are_null(tmp_path: Path) -> None:
    rows_read, _ = csv_of(tmp_path, "who,lat,lon\na,45,5\n")
    assert rows_read["time"].to_pylist() == [None]


SIGNS = "09T t:-.,+Zzé\n"
USUAL = [
    "2024-02-29",
    "2023-02-29",
    "2024-03-31T02:30",
    "2024-03-31T02:30:00",
    "1999-12-31 23:59:60",
]
FRACTIONS = [
    "2024-03-31T02:30:00.5+02:00",
    "2024-03-31 02:30:00,123456Z",
    "2024-03-31t02:30:59 GMT",
]


def test_iso_8601_is_read_by_places_exactly_as_by_its_pattern() -> None:
    texts = [*USUAL, *FRACTIONS, "", "2024"]
    for text in (*USUAL, *FRACTIONS):
        for place in range(len(text)):
            texts += [text[:place] + sign + text[place + 1 :] for sign in SIGNS]
            texts += [text[:place], text[:place] + "0" + text[place:]]
    values = pa.array([*texts, None], pa.string()).slice(1)

    zone = TimeZone(lambda local: local - 3600, {"CET": 3600})
    read = read_text(values, "iso", zone)

    by_pattern = _by_patterns(values, "iso", zone)
    assert read.fits.sum() > 100
    np.testing.assert_array_equal(read.fits, by_pattern.fits)
    np.testing.assert_array_equal(read.seconds[read.fits], by_pattern.seconds[read.fits])
