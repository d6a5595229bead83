"""Guesses at the declaration of a file, and a trial of the best guess."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpgeo.core.errors import InvalidInput
from dpgeo.core.guarantees import Unit
from dpgeo.ingest.batch import Head, Reader
from dpgeo.ingest.column_guess import (
    EARLY_NUMBER,
    suggest,
    suggest_by_values,
    suggest_clock,
    suggest_time,
)
from dpgeo.ingest.context import Context
from dpgeo.ingest.coordinates import NUMBER
from dpgeo.ingest.crs import WGS84, check_crs, crs_name, likely_systems, to_wgs84
from dpgeo.ingest.declared_formats import (
    LETTER_O,
    PAIRS,
    POSITION_SENTENCES,
    TIME_SENTENCES,
    split_time_formats,
)
from dpgeo.ingest.format_guess import ORDERS, guess_numbers, guess_pair, guess_time
from dpgeo.ingest.layout import WRITTEN_IN
from dpgeo.ingest.parts import FILE_NAME
from dpgeo.ingest.schema import Columns, Role
from dpgeo.ingest.times import read_formats, with_clock
from dpgeo.ingest.trial import Sample, Trial, left_out, run_trial, take_sample, try_quietly
from dpgeo.ingest.understanding import (
    ColumnUnderstood,
    LeftOut,
    Question,
    Reading,
    Understanding,
)
from dpgeo.phrases import Phrase
from dpgeo.spatial.area import StudyArea

EXAMPLES = 3
POSITIONS = 50
"""Number of positions that are tried in every likely coordinate system."""

MAX_ALTERNATIVES = 4
FURTHER_FORMATS = (
    "", "comma", "degrees", "degrees-ost", "degrees-ouest", "packed", "grouped", "e7", "e6",
)  # fmt: skip
SAVES = 0.01
"""Smallest gain for which another declaration is mentioned, as a share of all rows.

The gain is how many more rows it accepts than the declaration that was tried.
"""


def suggest_columns(head: Head, time_zone: str = "UTC") -> Columns:
    """Return the likeliest columns, judged by the header and the first values."""
    if head.layout.unnamed:
        columns = suggest_by_values(head.names, head.rows)
    else:
        columns = suggest(head.names, head.geometry, head.crs)
        columns = suggest_time(columns, head.names, head.rows, time_zone)
    columns = suggest_clock(columns, head.names, head.rows)
    return replace(columns, **head.likely.to_json(), file_format=head.file_format)


def understand(
    reader: Reader, path: Path, head: Head, context: Context, declared: Columns | None = None
) -> Understanding:
    """Try a declaration, or the likeliest one, on a sample of the file. Raises InvalidInput."""
    columns = declared or suggest_columns(head, context.time_zone)
    sample = take_sample(reader, path, columns)
    questions = list(_missing(columns, context))
    rivals: tuple[str, ...] = ()
    if declared is None:
        columns, rivals = guess_formats(sample, columns, context.time_zone)
    if not _has_position(columns) or (columns.region and context.regions is None):
        return _without_position(head, sample, columns, context, questions)
    trial = run_trial(sample, columns, context)
    alternatives = list(_alternatives(sample, columns, context, trial))
    if declared is None:
        questions += _encoding_question(reader, path, head, columns, trial)
        questions += _order_question(sample, columns, rivals, context)
        questions += _letter_question(sample, columns, context)
        questions += _hemisphere_question(head, columns)
        questions += _early_question(sample, columns, trial)
        questions += _swap_question(columns, alternatives, trial)
        questions = [_by_file(each, head, columns, trial.report.accepted) for each in questions]
    counts = trial.report
    return Understanding(
        columns=columns,
        understood=list(_columns_understood(head, columns, sample)),
        projection=crs_name(columns.crs),
        time_zone=context.time_zone,
        rows=counts.read,
        readable=counts.accepted + trial.outside,
        accepted=counts.accepted,
        whole=sample.whole,
        left_out=[LeftOut(*each) for each in left_out(counts)],
        questions=questions,
        alternatives=alternatives,
        points=trial.points,
    )


def _has_position(columns: Columns) -> bool:
    return bool(columns.geometry or columns.region or (columns.longitude and columns.latitude))


def _without_position(
    head: Head, sample: Sample, columns: Columns, context: Context, questions: list[Question]
) -> Understanding:
    return Understanding(
        columns=columns,
        understood=list(_columns_understood(head, columns, sample)),
        projection=crs_name(columns.crs),
        time_zone=context.time_zone,
        rows=max(sample.tally.read, len(head.rows)),
        readable=0,
        accepted=0,
        whole=sample.whole,
        left_out=[],
        questions=questions,
        alternatives=[],
        points=[],
    )


def _missing(columns: Columns, context: Context) -> Iterator[Question]:
    """Yield a question for each needed role for which no column was found."""
    if not _has_position(columns):
        text = Phrase("Which columns hold the position?")
        yield Question("missing", "longitude", text, [])
    if context.unit is Unit.PERSON and not columns.person:
        yield Question("missing", "person", Phrase("Which column says whose row it is?"), [])


def _by_file(question: Question, head: Head, columns: Columns, accepted: int) -> Question:
    """Add the answer "each file is one person" to the question which column names persons.

    A question about other columns, or about a single file, is returned unchanged.
    """
    if (question.kind, question.field) != ("missing", "person") or FILE_NAME not in head.names:
        return question
    label = Phrase("Each file is one person")
    tried = replace(columns, person=FILE_NAME)
    return replace(question, answers=[Reading(label, tried, accepted)])


def guess_formats(
    sample: Sample, columns: Columns, time_zone: str = "UTC"
) -> tuple[Columns, tuple[str, ...]]:
    """Return a declaration with the likeliest formats, and time formats that fit equally well.

    A time column without any value is left out: routes and placemarks need no times.
    """
    rivals: tuple[str, ...] = ()
    if columns.time and sample.is_empty(Role.TIME):
        columns = replace(columns, time="", clock="")
    if columns.time:
        texts = sample.texts(Role.TIME)
        if columns.clock:
            texts = with_clock(texts, sample.texts(Role.CLOCK))
        guess = guess_time(pc.drop_null(texts), time_zone)
        columns, rivals = replace(columns, time_format=guess.declared), guess.rivals
    form = ""
    if columns.geometry:
        form = guess_pair(pc.drop_null(sample.texts(Role.GEOMETRY)))
    elif columns.longitude and columns.latitude:
        latitude, longitude = sample.texts(Role.LATITUDE), sample.texts(Role.LONGITUDE)
        both = pc.and_(pc.is_valid(latitude), pc.is_valid(longitude))
        form = guess_numbers(latitude.filter(both), longitude.filter(both))
    return replace(columns, position_format=form), rivals


def _encoding_question(
    reader: Reader, path: Path, head: Head, columns: Columns, trial: Trial
) -> Iterator[Question]:
    """Yield the question about the encoding, if the text makes sense in several."""
    if len(head.encodings) < 1 or columns.encoding not in WRITTEN_IN:
        return
    answers = []
    for encoding in (columns.encoding, *head.encodings):
        written = reader.first_rows(path, replace(columns.layout, encoding=encoding))
        texts = [
            text for row in (written.names, *written.rows) for text in row if not text.isascii()
        ]
        # The columns are those with the same places, under the names that this encoding gives them.
        renamed = dict(zip(head.names, written.names, strict=True))
        roles = {role: renamed.get(getattr(columns, role), "") for role in Role}
        tried = replace(columns, **roles, encoding=encoding)
        example = Phrase("{text}", text=", ".join(texts[:EXAMPLES]))
        answers.append(Reading(WRITTEN_IN[encoding], tried, trial.report.accepted, example))
    text = Phrase("In which alphabet is the text written?")
    yield Question("encoding", "encoding", text, answers)


def _order_question(
    sample: Sample, columns: Columns, rivals: tuple[str, ...], context: Context
) -> Iterator[Question]:
    """Yield the question about the order of day, month and year, if several orders fit."""
    if not rivals:
        return
    texts = pc.drop_null(sample.texts(Role.TIME))
    answers = []
    declarations = (columns.time_format, *rivals)
    orders = [next(code for code in each.split() if code in ORDERS) for each in declarations]
    for declared, order in zip(declarations, orders, strict=True):
        tried = replace(columns, time_format=declared)
        accepted = try_quietly(sample, tried, context).report.accepted
        example = _example(texts, order, orders)
        answers.append(Reading(TIME_SENTENCES[order], tried, accepted, example))
    text = Phrase("In what order do the dates in {name!r} stand?", name=columns.time)
    yield Question("day_or_month", "time_format", text, answers)


def _letter_question(sample: Sample, columns: Columns, context: Context) -> Iterator[Question]:
    """Ask what the letter O means, if longitudes of both meanings would be used."""
    if columns.position_format not in LETTER_O:
        return
    answers = []
    for code in LETTER_O:
        tried = replace(columns, position_format=code)
        accepted = try_quietly(sample, tried, context).report.accepted
        answers.append(Reading(POSITION_SENTENCES[code], tried, accepted))
    if all(each.accepted for each in answers):
        text = Phrase("Does O stand for east or for west?")
        yield Question("east_or_west", "position_format", text, answers)


def _hemisphere_question(head: Head, columns: Columns) -> Iterator[Question]:
    """Point out a column that says S or W of numbers without a sign, as receivers write it."""
    for index, name in enumerate(head.names):
        values = {row[index].upper() for row in head.rows}
        if values <= set("NSEW") and values & set("SW") and columns.position_format == "packed":
            text = Phrase(
                "{name!r} says that some positions are south or west, and is not read. Join it to "
                "the numbers, as in 5230.1S.",
                name=name,
            )
            yield Question("hemisphere", "position_format", text, [])


def _early_question(sample: Sample, columns: Columns, trial: Trial) -> Iterator[Question]:
    """Ask whether numbers are times, if most would be times before 1980."""
    if not columns.time or columns.clock or columns.time_format:
        return
    texts = pc.drop_null(sample.texts(Role.TIME))
    numbers = texts.filter(pc.match_substring_regex(texts, NUMBER)).cast(pa.float64()).to_numpy()
    if len(numbers) * 2 <= len(texts) or np.median(np.abs(numbers)) >= EARLY_NUMBER:
        return
    text = Phrase("The numbers in {name!r} would be times before 1980.", name=columns.time)
    without = replace(columns, time="", clock="")
    answers = [
        Reading(Phrase("Without times"), without, trial.report.accepted),
        Reading(Phrase("Seconds since 1970"), columns, trial.report.accepted),
    ]
    yield Question("early_times", "time", text, answers)


def _example(texts: pa.Array, order: str, orders: Sequence[str]) -> Phrase:
    """Return a phrase that says what a date of the file means in one order of day and month.

    A date that means something else in the other orders is preferred.
    """
    formats_read = read_formats(texts, "UTC", (order,))
    others = [read_formats(texts, "UTC", (code,)).seconds for code in orders if code != order]
    differs = np.logical_or.reduce([formats_read.seconds != other for other in others])
    index = int(np.argmax(formats_read.fits & differs))
    if not formats_read.fits[index]:
        return Phrase("")
    day = datetime.fromtimestamp(formats_read.seconds[index], UTC)
    return Phrase("{written} is {date}", written=texts[index].as_py(), date=f"{day:%Y-%m-%d}")


def _swap_question(
    columns: Columns, alternatives: list[Reading], trial: Trial
) -> Iterator[Question]:
    """Ask whether longitude and latitude are swapped, if most rows are accepted only then."""
    for each in alternatives:
        if each.columns == swapped(columns) and each.accepted > 2 * trial.report.accepted:
            unchanged = Reading(Phrase("As their names say"), columns, trial.report.accepted)
            text = Phrase("Are longitude and latitude swapped in this file?")
            yield Question("swapped", "longitude", text, [each, unchanged])


def swapped(columns: Columns) -> Columns:
    """Return a declaration with longitude and latitude swapped."""
    if columns.position_format in PAIRS:
        other = (PAIRS - {columns.position_format}).pop()
        return replace(columns, position_format=other)
    return replace(
        columns,
        longitude=columns.latitude,
        latitude=columns.longitude,
        destination_longitude=columns.destination_latitude,
        destination_latitude=columns.destination_longitude,
    )


def _alternatives(
    sample: Sample, columns: Columns, context: Context, trial: Trial
) -> Iterator[Reading]:
    """Yield other declarations that accept more rows, best first.

    Of several declarations in one coordinate system that give the same positions and times, only
    the first is offered.
    """
    rows = trial.report.read
    if trial.report.accepted >= rows * (1 - SAVES):
        return
    different: dict[tuple[str, str, str, str, bytes], Reading] = {}
    for label, other in _variants(sample, columns, context):
        tried = try_quietly(sample, other, context)
        accepted = tried.report.accepted
        if accepted > trial.report.accepted + SAVES * rows:
            times = (other.time, other.clock, other.time_format)
            meaning = (other.crs, *times, tried.meaning)
            different.setdefault(meaning, Reading(label, other, accepted))
    best = sorted(different.values(), key=lambda each: -each.accepted)
    yield from best[:MAX_ALTERNATIVES]


def _variants(
    sample: Sample, columns: Columns, context: Context
) -> Iterator[tuple[Phrase, Columns]]:
    """Yield declarations that differ from `columns` in one respect, and a phrase that names it."""
    if not columns.geometry or columns.position_format in PAIRS:
        yield Phrase("Longitude and latitude swapped"), swapped(columns)
    if columns.longitude:
        for form in FURTHER_FORMATS:
            if form != columns.position_format:
                label = Phrase("Positions as {format}", format=POSITION_SENTENCES[form])
                yield label, replace(columns, position_format=form)
    if columns.time:
        for code in ORDERS:
            if code not in split_time_formats(columns.time_format):
                label = Phrase("Dates as {format}", format=TIME_SENTENCES[code])
                yield label, replace(columns, time_format=code)
        yield Phrase("Without times"), replace(columns, time="", clock="", time_format="")
    if columns.crs == WGS84 and context.area is not None:
        for code in islice(_fitting_systems(sample, context.area), MAX_ALTERNATIVES):
            label = Phrase("Coordinates in {system}", system=crs_name(code))
            yield label, replace(columns, crs=code)


def _fitting_systems(sample: Sample, area: StudyArea) -> Iterator[str]:
    """Yield coordinate systems in which most of the projected positions lie in the study area."""
    eastings = _first_numbers(sample, Role.LONGITUDE)
    northings = _first_numbers(sample, Role.LATITUDE)
    if not len(eastings) or len(eastings) != len(northings) or np.median(np.abs(eastings)) <= 360:
        return
    for code in likely_systems(area.bounds):
        try:
            check_crs(code, area.bounds)
        except InvalidInput:
            continue
        longitude, latitude = to_wgs84(eastings, northings, code, area.bounds)
        finite = np.isfinite(longitude) & np.isfinite(latitude)
        if area.covers(longitude[finite], latitude[finite]).sum() * 2 > len(eastings):
            yield code


def _first_numbers(sample: Sample, role: str) -> NDArray[np.float64]:
    """Return the first values (up to POSITIONS) that are plain numbers in the column of a role."""
    texts = sample.texts(role)
    plain = texts.filter(pc.fill_null(pc.match_substring_regex(texts, NUMBER), False))
    numbers: NDArray[np.float64] = plain.slice(0, POSITIONS).cast(pa.float64()).to_numpy()
    return numbers


def _columns_understood(head: Head, columns: Columns, sample: Sample) -> Iterator[ColumnUnderstood]:
    """Yield every column of the file, with its role and format."""
    roles = {getattr(columns, role): role.value for role in Role if getattr(columns, role)}
    for index, name in enumerate(head.names):
        values = dict.fromkeys(row[index] for row in head.rows if row[index])
        role = roles.get(name, "")
        written = _written(role, columns, sample) if role else Phrase("")
        yield ColumnUnderstood(name, role, written, list(values)[:EXAMPLES])


def _written(role: str, columns: Columns, sample: Sample) -> Phrase:
    """Return a phrase that says how the values of a declared column are written."""
    if role == Role.PERSON:
        return Phrase("one name for each person")
    if role == Role.CLOCK:
        return Phrase("hours and minutes")
    if role != Role.TIME:
        form = columns.position_format
        points = role == Role.GEOMETRY and form not in PAIRS
        return Phrase("points") if points else POSITION_SENTENCES[form]
    fields = [batch.fields[role] for batch in sample.batches if role in batch.fields]
    if any(pa.types.is_timestamp(each.type) or pa.types.is_date(each.type) for each in fields):
        return Phrase("times as the file stores them")
    *earlier, sentence = (TIME_SENTENCES[each] for each in split_time_formats(columns.time_format))
    for each in reversed(earlier):
        sentence = Phrase("{first}; or {second}", first=each, second=sentence)
    return sentence
