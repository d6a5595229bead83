"""Codec for Released objects: deterministic encoding to bytes, and decoding.

The bytes are a zip archive that `numpy.load(..., allow_pickle=False)` opens as an .npz file. Its
first member, "header", is UTF-8 JSON as a uint8 array; it contains the name and the version of the
format. Every other member is one array of the content. The archive does not depend on the clock,
the machine or the order of mappings.

Zones have their keys and names in the header, and their shapes in a member of their own: as GeoJSON
in the header, half a million vertices would take a second to read.
"""

from __future__ import annotations

import dataclasses
import io
import json
import typing
import zipfile
import zlib
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from dpgeo.core.errors import DpgeoError
from dpgeo.core.guarantees import ZCDP, Bounding, Counting, Guarantee, Notion, Unit, guarantee
from dpgeo.core.noise import CountNoise, count_noise_from_json
from dpgeo.core.released import CONTENT_TYPES, Content, Released
from dpgeo.core.spend import Measured
from dpgeo.core.totals import Totals
from dpgeo.spatial.area import StudyArea

FORMAT = "dpgeo-released"
VERSION = 1

MAX_HEADER_BYTES = 32 * 1024**2
"""Largest size of the header in bytes, enough for a study area of a million vertices."""

_SUFFIX = ".npy"

_PLAIN = (str, int, bool)

_MALFORMED = (
    ValueError,  # also raised for invalid JSON, text that is not UTF-8, and invalid study areas
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    EOFError,
    NotImplementedError,  # raised for a compression method or zip version that dpgeo never writes
    RuntimeError,  # raised for an encrypted member, and for JSON that is nested too deeply
    zipfile.BadZipFile,
    zlib.error,
)


class UnreadableRelease(DpgeoError):
    """Raised if bytes are not a release file of a version and size that dpgeo can read."""


class UnwritableRelease(DpgeoError):
    """Raised if this installation cannot write a type of content at all."""


class DamagedRelease(UnreadableRelease):
    """Raised if a release file is incomplete or has been altered."""


def encode(released: Released) -> bytes:
    """Encode a Released object as bytes; equal objects give equal bytes.

    Raises TypeError if an array does not have the dtype declared for its field, or
    UnreadableRelease if the arrays are too large for `decode`.
    """
    fields, arrays = _split(released.content)
    size = sum(array.nbytes for array in arrays.values())
    if size > released.content.most_bytes:
        raise UnreadableRelease(
            "This release has {size:,} bytes, more than this software can read.", size=size
        )
    header = {
        "format": FORMAT,
        "version": VERSION,
        "mechanism": released.mechanism,
        "parameters": dict(released.parameters),
        "software": released.software,
        "about": dict(released.about),
        "area": released.area.to_geojson(),
        "counting": released.counting.value,
        "bound": released.bound,
        "bounding": released.bounding.value,
        "guarantee": _guarantee_facts(released.guarantee),
        "trace": [measured.to_json() for measured in released.trace],
        "content": {"type": type(released.content).__name__, "fields": fields},
    }
    if released.totals:
        header["totals"] = released.totals.to_json()
    members = {"header": np.frombuffer(_header_bytes(header), dtype=np.uint8), **arrays}
    buffer = io.BytesIO()
    # Level 1 is enough: noise does not compress better at higher levels.
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in members.items():
            _write_member(archive, name, array)
    return buffer.getvalue()


def decode(data: bytes) -> Released:
    """Decode the bytes that `encode` made; the arrays are read-only.

    Raises DamagedRelease if the bytes are a truncated or altered archive, or no archive at all.
    Raises UnreadableRelease for an unknown version or type of content, if the unpacked header is
    larger than MAX_HEADER_BYTES, or if the unpacked content is larger than its type's `most_bytes`.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            header = _read_header(archive)
            content = _read_content(archive, header["content"])
        return _assemble(header, content)
    except _MALFORMED as error:
        raise DamagedRelease(
            "This is not a whole release file of dpgeo; restore it from a backup. "
            f"({type(error).__name__}: {error})"
        ) from error


def check_encodable() -> None:
    """Raise UnwritableRelease if a type of content has a field that the codec cannot write.

    The check reads only the declared types of the fields, so it can run before noise is drawn.
    """
    for kind in CONTENT_TYPES:
        for name, hint in _fields(kind).items():
            if _dtype(hint) is None and not _is_header_field(hint):
                raise UnwritableRelease(
                    "This installation cannot write {kind}.{name} to a release file, so "
                    "it makes no releases; report this as a fault.",
                    kind=kind.__name__,
                    name=name,
                )


def check_public_part(
    parameters: Mapping[str, object], about: Mapping[str, str], area: StudyArea, rest: int = 0
) -> None:
    """Raise UnwritableRelease if a release's header cannot contain its request, or is too large.

    `rest` is the size in bytes of the other parts of the header. Everything checked is known before
    noise is drawn, so that a request refused here costs nothing.
    """
    public = {"parameters": dict(parameters), "about": dict(about), "area": area.to_geojson()}
    try:
        size = len(_header_bytes(public)) + rest
    except (TypeError, ValueError) as error:
        raise UnwritableRelease(
            "The description of this release cannot be written to its file ({reason}); change the "
            "title, the description or the parameters.",
            reason=type(error).__name__,
        ) from error
    if size > MAX_HEADER_BYTES:
        raise UnwritableRelease(
            "The study area and the zones take {size:,} bytes in the release's file, and {most:,} "
            "can be read; simplify them.",
            size=size,
            most=MAX_HEADER_BYTES,
        )


def _header_bytes(header: Mapping[str, Any]) -> bytes:
    """Return a header as UTF-8 JSON. Raises TypeError or ValueError for values unfit for JSON."""
    return json.dumps(header, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _is_header_field(hint: Any) -> bool:
    if typing.get_origin(hint) is tuple:
        return _is_header_field(typing.get_args(hint)[0])
    if hint in _PLAIN or hint == CountNoise:
        return True
    return _is_packed(hint) or (hasattr(hint, "to_json") and hasattr(hint, "from_json"))


def _split(content: Content) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the fields of a content object that go into the header, as JSON, and its arrays."""
    header: dict[str, Any] = {}
    arrays: dict[str, NDArray[Any]] = {}
    for name, hint in _fields(type(content)).items():
        value = getattr(content, name)
        dtype = _dtype(hint)
        if _is_packed(hint):
            header[name], packed = value.to_packed()
            arrays[name] = np.frombuffer(packed, dtype=np.uint8)
        elif dtype is None:
            header[name] = _to_document(value, hint)
        elif value.dtype != dtype:
            raise TypeError(f"{name} must be an array of {dtype}, not {value.dtype}.")
        else:
            arrays[name] = value
    return header, arrays


def _is_packed(hint: Any) -> bool:
    """Return whether a field of this type is stored partly as JSON and partly as an array."""
    return hasattr(hint, "to_packed") and hasattr(hint, "from_packed")


def _fields(cls: type[Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


def _to_document(value: Any, hint: Any) -> Any:
    """Convert the value of a header field to JSON; `hint` is the field's declared type."""
    if hint in _PLAIN:
        return value
    if typing.get_origin(hint) is tuple:
        return [_to_document(item, typing.get_args(hint)[0]) for item in value]
    return value.to_json()


def _from_document(document: Any, hint: Any) -> Any:
    """Convert JSON back to the value of a header field; this inverts `_to_document`."""
    if hint in _PLAIN:
        return hint(document)
    if typing.get_origin(hint) is tuple:
        return tuple(_from_document(item, typing.get_args(hint)[0]) for item in document)
    if hint == CountNoise:
        return count_noise_from_json(document)
    return hint.from_json(document)


def _dtype(hint: Any) -> np.dtype[Any] | None:
    """Return the dtype of a field declared as NDArray[...], or None for any other field.

    Since NumPy 2.5 on Python 3.12, `NDArray` is a type alias with the dtype as its argument; in
    earlier versions it is ndarray[shape, dtype[...]].
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is np.ndarray:
        arguments = typing.get_args(arguments[1])
    elif origin is not NDArray:
        return None
    dtype: np.dtype[Any] = np.dtype(arguments[0])
    return dtype


def _write_member(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> None:
    # A member that is opened by its name, not a ZipInfo, is dated 1980 instead of now, so equal
    # objects give equal bytes.
    with archive.open(name + _SUFFIX, "w", force_zip64=True) as member:
        portable = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
        npy.write_array_header_1_0(member, npy.header_data_from_array_1_0(portable))
        member.write(portable.reshape(-1).view(np.uint8).data)


def _read_header(archive: zipfile.ZipFile) -> dict[str, Any]:
    header = _read_member(archive, "header", np.dtype(np.uint8), MAX_HEADER_BYTES)
    document = json.loads(header.tobytes())
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError("its header does not name the format")
    if document.get("version") != VERSION:
        raise UnreadableRelease(
            "This release file is of version {found}, and this software reads version {version}; "
            "open it with the dpgeo that wrote it, or a newer one.",
            found=repr(document.get("version")),
            version=VERSION,
        )
    return document


def _read_content(archive: zipfile.ZipFile, document: Mapping[str, Any]) -> Content:
    kinds = {cls.__name__: cls for cls in CONTENT_TYPES}
    if document["type"] not in kinds:
        raise UnreadableRelease(
            "This release file holds a {type!r}, which this software does not know; open it with "
            "a newer dpgeo.",
            type=str(document["type"]),
        )
    kind = kinds[document["type"]]
    values: dict[str, Any] = {}
    room = kind.most_bytes
    for name, hint in _fields(kind).items():
        dtype = _dtype(hint)
        if dtype is not None:
            values[name] = _read_member(archive, name, dtype, room)
            room -= values[name].nbytes
        elif _is_packed(hint):
            packed = _read_member(archive, name, np.dtype(np.uint8), room)
            values[name] = hint.from_packed(document["fields"][name], packed.tobytes())
            room -= packed.nbytes
        else:
            values[name] = _from_document(document["fields"][name], hint)
    return kind(**values)


def _read_member(
    archive: zipfile.ZipFile, name: str, dtype: np.dtype[Any], limit: int
) -> NDArray[Any]:
    """Read one array of the archive.

    Raises UnreadableRelease if its values take more than `limit` bytes.
    """
    with archive.open(name + _SUFFIX) as member:
        if npy.read_magic(member) != (1, 0):
            raise ValueError(f"member {name} is not an array of version 1.0")
        shape, fortran, stored = npy.read_array_header_1_0(member)
        size = int(np.prod(shape, dtype=object)) * dtype.itemsize
        if fortran or stored != dtype.newbyteorder("<") or min(shape, default=0) < 0:
            raise ValueError(f"member {name} is not a row-ordered array of {dtype}")
        if size > limit:
            raise UnreadableRelease(
                "This release file's {name!r} unpacks to {size} bytes, and this software reads "
                "{limit} at most.",
                name=name,
                size=size,
                limit=limit,
            )
        data = member.read(size + 1)
    if len(data) != size:
        raise ValueError(f"member {name} does not hold the {size} bytes of its shape")
    array = np.frombuffer(data, dtype=stored).reshape(shape)
    return array.astype(dtype, copy=False)


def _assemble(header: Mapping[str, Any], content: Content) -> Released:
    return Released(
        mechanism=str(header["mechanism"]),
        parameters=dict(header["parameters"]),
        software=str(header["software"]),
        about=dict(header["about"]),
        area=StudyArea.from_geojson(header["area"]),
        counting=Counting(header["counting"]),
        bound=int(header["bound"]),
        bounding=Bounding(header["bounding"]),
        guarantee=_read_guarantee(header["guarantee"]),
        trace=tuple(Measured.from_json(line) for line in header["trace"]),
        content=content,
        totals=Totals.from_json(header["totals"]) if header.get("totals") else None,
    )


def _read_guarantee(document: Mapping[str, Any]) -> Guarantee:
    """Read the guarantee; for geo-indistinguishability, epsilon is per metre.

    For zCDP, epsilon is not read, since it follows from rho and delta.
    """
    notion, unit = Notion(document["notion"]), Unit(document["unit"])
    if notion is Notion.ZCDP:
        return ZCDP(Fraction(document["rho"]), Fraction(document["delta"]), unit)
    return guarantee(notion, Fraction(document["epsilon"]), unit)


def _guarantee_facts(paid: Guarantee) -> dict[str, str]:
    """Return a guarantee as it is stored, with exact fractions; `_read_guarantee` reads it."""
    facts = {"notion": paid.notion.value, "epsilon": str(paid.epsilon), "unit": paid.unit.value}
    if isinstance(paid, ZCDP):
        facts |= {"rho": str(paid.rho), "delta": str(paid.delta)}
    return facts
