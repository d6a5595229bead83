"""Checks of the column names in a header, and the indices of the declared columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches

from dpgeo.core.errors import InvalidInput
from dpgeo.ingest.schema import Wanted, field_of, role_name
from dpgeo.phrases import Phrase

MAX_COLUMNS = 10_000


def check_names(names: Sequence[str]) -> None:
    """Raise InvalidInput (field "file") for too many columns, no names, or repeated names.

    Any number of columns may be unnamed, since no role can be declared for them.
    """
    if len(names) > MAX_COLUMNS:
        raise InvalidInput(
            "The file has {count:,} columns; at most {most:,} are read. Keep only those a map "
            "needs: person, position and time.",
            count=len(names),
            most=MAX_COLUMNS,
            field="file",
        )
    if not any(names):
        raise InvalidInput(
            "The file has no header; its first line must name the columns.", field="file"
        )
    twice = [name for name, times in Counter(names).items() if name and times > 1]
    if twice:
        raise InvalidInput(
            "The header names {names} more than once; give each column a name of its own.",
            names=quoted(twice[:5]),
            field="file",
        )


def with_groups(names: Sequence[str], groups: Sequence[str]) -> list[str]:
    """Return the names of a header's second row, and of its first row where that has none."""
    above = [*groups, *[""] * len(names)]
    return [name or group for name, group in zip(names, above, strict=False)]


def positions(wanted: Wanted, names: Sequence[str]) -> dict[str, int]:
    """Return the index in `names` of each declared column, by role.

    Raises InvalidInput if a declared column is missing.
    """
    where = {name: index for index, name in enumerate(names)}
    for role, name in wanted.items():
        if name not in where:
            raise InvalidInput(
                "The file has no column {name!r} for the {role}; {advice}",
                name=name,
                role=role_name(role),
                advice=_advice(name, names),
                field=field_of(role),
            )
    return {role: where[name] for role, name in wanted.items()}


def _advice(name: str, names: Sequence[str]) -> Phrase:
    by_small = {other.lower(): other for other in names if other}
    close = [by_small[small] for small in get_close_matches(name.lower(), by_small, cutoff=0.5)]
    if close:
        return Phrase("did you mean {names}?", names=quoted(close))
    named = [other for other in names if other]
    if len(named) > 10:
        return Phrase("it has {names} and others.", names=quoted(named[:10]))
    return Phrase("it has {names}.", names=quoted(named))


def quoted(names: Sequence[str]) -> str:
    """Return names in quotation marks, each cut to a readable length."""
    return ", ".join(repr(name if len(name) <= 60 else name[:59] + "…") for name in names)
