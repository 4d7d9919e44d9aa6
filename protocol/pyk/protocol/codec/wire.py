"""Functions that generated code calls: varints, tags, arrays of numbers, errors for bad bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from struct import Struct as NumberStruct
from struct import error as StructError  # noqa: N812
from typing import Any, TypeAlias, cast
from uuid import UUID

from pyk.protocol.errors import MalformedMessageError
from pyk.protocol.structs import Struct

Data: TypeAlias = bytes | bytearray | memoryview

LONGEST_STRING = 32767  # bytes; Kafka refuses longer ones in the compact encoding too
MOST_ELEMENTS = (
    1 << 20
)  # of one array; elements cost far more memory than the bytes that ask for them
MOST_PREPARED = 64  # lengths of number arrays whose struct is kept


class BadBytesError(ValueError):
    """Bytes that the running decoder cannot accept; it adds which message and where."""


FAULTS = (BadBytesError, IndexError, StructError, UnicodeDecodeError)
"""The errors that hostile bytes can raise: of a short buffer, IndexError or struct.error."""


class NumberArrays(dict[int, Callable[..., Any]]):
    """``arrays[count]`` packs or unpacks ``count`` numbers at once."""

    def __init__(self, number_format: str, method: str) -> None:
        super().__init__()
        self._number_format = number_format
        self._method = method

    def __missing__(self, count: int) -> Callable[..., Any]:
        if count > MOST_ELEMENTS:
            raise BadBytesError(f"an array of {count} numbers, more than {MOST_ELEMENTS}")
        method = getattr(NumberStruct(f">{count}{self._number_format}"), self._method)
        if count <= MOST_PREPARED:
            self[count] = method
        return cast(Callable[..., Any], method)


_NUMBER_FORMATS = "bhiqHId"
PACK_NUMBERS = {number: NumberArrays(number, "pack") for number in _NUMBER_FORMATS}
UNPACK_NUMBERS = {number: NumberArrays(number, "unpack_from") for number in _NUMBER_FORMATS}


def bytes_of(view: memoryview) -> bytes | bytearray:
    """Return what ``view`` shows: what it stands on, if that is all of it, otherwise a copy."""
    base = view.obj
    if isinstance(base, bytes | bytearray) and len(base) == len(view) and view.c_contiguous:
        return base
    return bytes(view)


@lru_cache(maxsize=4096)
def uuid_of(raw: bytes) -> UUID:
    """Return the uuid with these 16 bytes; topic ids repeat a lot, and making one is slow."""
    return UUID(bytes=raw)


def read_varint(data: Data, position: int) -> tuple[int, int]:
    """Return the unsigned varint at ``position`` and the position after it."""
    value = data[position]
    if value < 0x80:
        return value, position + 1
    byte = data[position + 1]
    value += (byte - 1) << 7  # the 1 takes back the top bit of the byte before
    if 0 < byte < 0x80:
        return value, position + 2
    shift, position = 14, position + 2
    while byte >= 0x80:
        if shift > 28:
            raise BadBytesError("a varint of more than 5 bytes")
        byte = data[position]
        value += (byte - 1) << shift
        shift, position = shift + 7, position + 1
    if value > 0xFFFFFFFF:
        raise BadBytesError("a varint above 32 bits")
    if byte == 0:
        raise BadBytesError("a varint longer than its value needs")
    return value, position


def read_length(data: Data, position: int) -> tuple[int, int]:
    """Return a length + 1 and the position of its last byte, from which it counts."""
    length, position = read_varint(data, position)
    return length, position - 1


def read_string_length(data: Data, position: int) -> tuple[int, int]:
    """Return what :func:`read_length` does, for a compact string."""
    length, position = read_varint(data, position)
    if length > LONGEST_STRING + 1:
        raise BadBytesError(f"a string of {length - 1} bytes, more than {LONGEST_STRING}")
    return length, position - 1


def read_tag(data: Data, position: int, last_tag: int) -> tuple[int, int, int]:
    """Return tag, start and end of the value of the next tagged field."""
    tag, position = read_varint(data, position)
    if tag <= last_tag:
        raise BadBytesError(f"tag {tag} after tag {last_tag}: tags must rise")
    size, position = read_varint(data, position)
    end = position + size
    if end > len(data):
        raise BadBytesError(f"tag {tag} of {size} bytes, but {len(data) - position} are left")
    return tag, position, end


def read_unknown_tags(data: Data, position: int, struct: Struct) -> int:
    """Read the tagged section of a struct that knows no tags; return the position after it."""
    count, position = read_varint(data, position)
    tag, unknown = -1, {}
    for _ in range(count):
        tag, position, end = read_tag(data, position, tag)
        unknown[tag] = bytes(data[position:end])
        position = end
    if unknown:
        struct.unknown_tagged_fields = unknown
    return position


def varint(value: int) -> bytes:
    """Return ``value`` as an unsigned varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def string_varint(length: int) -> bytes:
    """Return the varint before a compact string of ``length - 1`` bytes."""
    if length > LONGEST_STRING + 1:
        raise ValueError(f"a string of {length - 1} bytes, more than {LONGEST_STRING}")
    return varint(length)


def write_tags(out: bytearray, known: dict[int, bytearray], unknown: Mapping[int, bytes]) -> None:
    """Append a tagged section of known and unknown fields."""
    if not known.keys().isdisjoint(unknown):
        raise ValueError(
            f"unknown_tagged_fields has tags of known fields: {set(known) & set(unknown)}"
        )
    out += varint(len(known) + len(unknown))
    fields: Mapping[int, bytes | bytearray] = {**known, **unknown}
    for tag, value in sorted(fields.items()):
        out += varint(tag)
        out += varint(len(value))
        out += value


def record_data_size(value: Any) -> int:
    """Return the bytes of what a ``records`` field was given."""
    return sum(map(len, value)) if isinstance(value, list) else len(value)


def bad_length(field: str, length: int, left: int) -> BadBytesError:
    """Return the error for a length that the rest of the data cannot hold."""
    if length == -1:
        return BadBytesError(f"{field} is null, which this version does not allow")
    return BadBytesError(f"{field} has length {length}, but {left} bytes are left")


def bad_count(field: str, count: int, left: int) -> BadBytesError:
    """Return the error for an element count that the rest of the data cannot hold."""
    if count == -1:
        return BadBytesError(f"{field} is null, which this version does not allow")
    return BadBytesError(
        f"{field} has {count} elements, but {left} bytes are left (and {MOST_ELEMENTS} are allowed)"
    )


def bad_marker(field: str, marker: int) -> BadBytesError:
    """Return the error for an invalid marker byte before a nullable struct."""
    return BadBytesError(f"{field} has marker {marker}, neither null nor present")


def bad_tag_size(tag: int, used: int) -> BadBytesError:
    """Return the error for a tagged field whose size is not what its value took."""
    return BadBytesError(
        f"tag {tag} ends {abs(used)} bytes {'after' if used > 0 else 'before'} its declared size"
    )


def malformed(
    message: str, version: int, data: Data, position: int, fault: Exception
) -> MalformedMessageError:
    """Return the error for ``fault``, met at or shortly after ``position``."""
    if isinstance(fault, IndexError | StructError):
        words = f"the data ends early, after {len(data)} bytes"
    elif isinstance(fault, UnicodeDecodeError):
        words = f"text that is not UTF-8 ({fault.reason})"
    else:
        words = str(fault)
    return MalformedMessageError(f"{message} v{version}: {words} (near byte {position})")
