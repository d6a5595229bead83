"""The release codec: it stores Released objects exactly and refuses anything else."""

from __future__ import annotations

import dataclasses
import io
import json
import tracemalloc
import zipfile
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpgeo.artefacts import codec
from dpgeo.artefacts.codec import (
    DamagedRelease,
    UnreadableRelease,
    UnwritableRelease,
    decode,
    encode,
)
from dpgeo.core.released import (
    CONTENT_TYPES,
    Content,
    GridRelease,
    Released,
)
from dpgeo.phrases import Phrase
from tests.unit.artefacts.releases import (
    examples,
    grid_release,
    points_release,
)


def facts(record: Released | Content) -> dict[str, Any]:
    """Return all fields except the content; an array is given by its dtype, shape and values."""
    values = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
    values.pop("content", None)
    return {
        name: (value.dtype, value.shape, value.tolist()) if isinstance(value, np.ndarray) else value
        for name, value in values.items()
    }


def rewrite(data: bytes, changes: dict[str, NDArray[Any]]) -> bytes:
    """Return a copy of the archive with some members replaced."""
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        members = {name: archive[name] for name in archive.files}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **(members | changes))
    return buffer.getvalue()


def with_header(data: bytes, **changes: Any) -> bytes:
    """Return a copy of the archive with some header keys replaced."""
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        header = json.loads(archive["header"].tobytes())
    text = json.dumps(header | changes).encode()
    return rewrite(data, {"header": np.frombuffer(text, dtype=np.uint8)})


@dataclasses.dataclass(frozen=True)
class SetsRelease:
    """Release content with a field of a type that release files cannot store."""

    cells: set[int]


def test_every_content_type_can_be_written_and_a_field_that_cannot_be_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    codec.check_encodable()
    monkeypatch.setattr(codec, "CONTENT_TYPES", (*CONTENT_TYPES, SetsRelease))
    with pytest.raises(UnwritableRelease, match=r"SetsRelease\.cells"):
        codec.check_encodable()


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=20), max_size=3))
def test_any_text_comes_back_unchanged(about: dict[str, str]) -> None:
    released = dataclasses.replace(grid_release(2), about=about)
    assert decode(encode(released)).about == about


def test_every_content_type_is_tried_here() -> None:
    assert {type(released.content) for released in examples()} == set(CONTENT_TYPES)
    for released in examples():
        assert facts(decode(encode(released)).content) == facts(released.content)


def test_arrays_come_back_read_only() -> None:
    content = decode(encode(grid_release())).content
    assert isinstance(content, GridRelease)
    with pytest.raises(ValueError, match="read-only"):
        content.counts[0, 0] = 1


@given(st.binary(max_size=300))
def test_bytes_that_are_no_archive_are_refused(data: bytes) -> None:
    with pytest.raises(UnreadableRelease, match="restore it from a backup"):
        decode(data)


def test_every_truncation_is_refused() -> None:
    data = encode(grid_release(2))
    for length in range(len(data)):
        with pytest.raises(UnreadableRelease):
            decode(data[:length])


def test_an_altered_byte_never_yields_another_release() -> None:
    released = grid_release(2)
    data = encode(released)
    for place in range(len(data)):
        altered = data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :]
        try:
            again = decode(altered)
        except UnreadableRelease:
            continue
        assert encode(again) == data, "only bytes without meaning may change unnoticed"


def test_an_unknown_version_says_which_it_reads() -> None:
    data = with_header(encode(grid_release()), version=3)
    with pytest.raises(UnreadableRelease, match=r"version 3, and .* reads version 1;"):
        decode(data)


def without_member(data: bytes, name: str) -> bytes:
    """Return a copy of the archive without one of its arrays."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        for member in old.namelist():
            if member != f"{name}.npy":
                new.writestr(member, old.read(member))
    return buffer.getvalue()


def test_a_release_without_one_of_its_fields_or_arrays_is_refused() -> None:
    data = encode(points_release())
    for name in ("combination", "density"):
        with pytest.raises(UnreadableRelease):
            decode(without_member(data, name))
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        content = json.loads(archive["header"].tobytes())["content"]
    for name in ("prior", "updates"):
        fields = {key: value for key, value in content["fields"].items() if key != name}
        with pytest.raises(UnreadableRelease):
            decode(with_header(data, content={**content, "fields": fields}))


def test_an_unknown_content_type_is_refused_by_name() -> None:
    for kind in ("Cake", None):
        data = with_header(encode(grid_release()), content={"type": kind, "fields": {}})
        words = f"'{kind}', which this software does not know"
        with pytest.raises(UnreadableRelease, match=words) as caught:
            decode(data)
        assert Phrase.from_json(caught.value.phrase.to_json()) == caught.value.phrase


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "other"},
        {"counting": "sheep"},
        {"area": {"type": "Point", "coordinates": [0, 0]}},
        {"guarantee": {"notion": "pure-dp", "epsilon": "1/0", "unit": "person"}},
        {"guarantee": {"notion": "hope", "epsilon": "1", "unit": "person"}},
        {"trace": [{"label": "x", "epsilon": "1", "noise": {"epsilon": "-1", "sensitivity": 1}}]},
        {"trace": 5},
        {"content": None},
    ],
)
def test_a_malformed_header_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(UnreadableRelease):
        decode(with_header(encode(grid_release()), **changes))


@pytest.mark.parametrize(
    "counts",
    [
        np.zeros((8, 8)),
        np.zeros((8, 8), dtype=np.int32),
        np.zeros((8, 8), dtype=">i8"),
        np.asfortranarray(np.ones((8, 8), dtype=np.int64)),
        np.array([{"a": 1}], dtype=object),
    ],
)
def test_an_array_of_another_kind_is_refused(counts: NDArray[Any]) -> None:
    with pytest.raises(UnreadableRelease):
        decode(rewrite(encode(grid_release()), {"counts": counts}))


def test_a_decompression_bomb_is_refused_before_unpacking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Content, "most_bytes", 2**20)
    data = rewrite(encode(grid_release()), {"counts": np.zeros((4096, 2048), dtype=np.int64)})
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableRelease, match="unpacks to 67108864 bytes"):
            decode(data)
        assert tracemalloc.get_traced_memory()[1] < 2**21
    finally:
        tracemalloc.stop()


def test_a_release_too_large_to_read_is_not_written_or_called_damaged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    released = grid_release()
    data = encode(released)
    monkeypatch.setattr(Content, "most_bytes", 64)
    with pytest.raises(UnreadableRelease, match="more than this software can read"):
        encode(released)
    with pytest.raises(UnreadableRelease) as refused:
        decode(data)
    assert not isinstance(refused.value, DamagedRelease)
    with pytest.raises(DamagedRelease):
        decode(data[:-100])


def test_an_array_shorter_than_its_shape_is_refused() -> None:
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(encode(grid_release()))) as old,
        zipfile.ZipFile(buffer, "w") as new,
    ):
        for name in old.namelist():
            member = old.read(name)
            new.writestr(name, member[:-8] if name == "counts.npy" else member)
    with pytest.raises(UnreadableRelease, match="does not hold the 512 bytes of its shape"):
        decode(buffer.getvalue())


def test_member_dates_do_not_depend_on_the_clock() -> None:
    with zipfile.ZipFile(io.BytesIO(encode(grid_release()))) as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
