"""Messages with one broken piece, and the error that a correct decoder raises for each.

A message consists of the pieces that the table codec writes. Where a piece changes its size, the
sizes of the tagged fields around it change too, so that only the intended piece is wrong.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from golden.protocol_facts import schemas
from pyk.protocol import Message, message_class
from pyk.protocol.names import snake_case
from support.message_values import filled_message
from support.table_codec import Piece, Writer, varint

BEYOND = "beyond the end"
NOT_UTF_8 = {
    "a byte that UTF-8 has not": b"\xff",
    "a cut character": b"\xc3",
    "a character of two bytes in Latin-1": b"\xe4se",
    "zero in two bytes, as Java writes it": b"\xc0\x80",
    "half of a surrogate pair": b"\xed\xa0\x80",
    "a character above U+10FFFF": b"\xf4\x90\x80\x80",
}
# The smallest and largest value, and some between; of floats the largest and zeros.
EDGES = (b"\x7f\xef" + b"\xff" * 6, b"\x80" + bytes(7), bytes(8), b"\xff\xef" + b"\xff" * 6)


class Sample(NamedTuple):
    """A message of one version with something in every field."""

    cls: type[Message]
    version: int
    pieces: Sequence[Piece]
    data: bytes


class Broken(NamedTuple):
    """A sample in which one piece is not as it was."""

    what: str
    data: bytes
    words: str
    """A pattern of the error; empty if the message is unusual but valid."""


class Change(NamedTuple):
    """What to do to a piece."""

    what: str
    data: bytes
    words: str = ""
    end: int = 0
    """The number after the last piece that ``data`` replaces; 0: it replaces one piece."""


Changes: TypeAlias = Iterator[Change]


def samples(name: str) -> Iterator[Sample]:
    """Return one message of every version."""
    return (sample_of(name, version) for version in message_class(name).versions)


def sample_of(name: str, version: int) -> Sample:
    schema = schemas()[name]
    writer = Writer(schema, version)
    data = writer.message(filled_message(schema, version))
    return Sample(message_class(name), version, writer.pieces, data)


def refused(sample: Sample) -> Iterator[Broken]:
    """Return the sample with each piece broken in each way that can never be right."""
    return (broken for broken in _broken(sample) if broken.words)


def accepted(sample: Sample) -> Iterator[Broken]:
    """Return the sample with each piece odd in each way that is right nevertheless."""
    return (broken for broken in _broken(sample) if not broken.words)


def claiming(sample: Sample) -> Iterator[Broken]:
    """Return the sample with each length, count and size claiming more than is there."""
    return (broken for broken in _broken(sample) if broken.what.endswith(BEYOND))


def spliced(pieces: Sequence[Piece], start: int, end: int, data: bytes) -> bytes:
    """Return the message with ``data`` in the place of the pieces from ``start`` up to ``end``."""
    parts = [piece.data for piece in pieces]
    grown = len(data) - _size(pieces, start, end)
    parts[start:end] = [data]
    for around in range(start - 1, -1, -1) if grown else ():
        piece = pieces[around]
        if piece.role == "tag size" and piece.end > start:
            size = varint(_size(pieces, around + 1, piece.end) + grown)
            grown += len(size) - len(piece.data)
            parts[around] = size
    return b"".join(parts)


def spoiled(data: bytes, chance: random.Random) -> bytes:
    """Return ``data`` with a few bits flipped, bytes put in, or a piece of it repeated or cut."""
    spoiled = bytearray(data or b"\0")
    for _ in range(chance.randint(1, 4)):
        position = chance.randrange(len(spoiled))
        match chance.randrange(4):
            case 0:
                spoiled[position] ^= 1 << chance.randrange(8)
            case 1:
                spoiled[position] = chance.choice((0, 1, 0x7F, 0x80, 0xFF))
            case 2:
                spoiled[position:position] = chance.randbytes(chance.randint(1, 5))
            case 3:
                end = chance.randrange(position, len(spoiled))
                spoiled[end:] = spoiled[position:end] or b"\0"
    return bytes(spoiled)


def _broken(sample: Sample) -> Iterator[Broken]:
    for number, piece in enumerate(sample.pieces):
        for change in CHANGES[piece.role](sample.pieces, number):
            end = change.end or number + 1
            whole = spliced(sample.pieces, number, end, change.data)
            yield Broken(f"{piece.role} {piece.field}: {change.what}", whole, change.words)


def _size(pieces: Sequence[Piece], start: int, end: int) -> int:
    return sum(len(piece.data) for piece in pieces[start:end])


def _classic_length(pieces: Sequence[Piece], number: int) -> Changes:
    piece = pieces[number]
    size, left = len(piece.data), _size(pieces, number + 1, len(pieces))
    yield _null(piece, b"\xff" * size)
    for length in (-2, -(1 << 8 * size - 1)):
        words = f"{_name(piece)} has (length {length}|{length} elements), but {left} bytes are left"
        yield Change("negative", length.to_bytes(size, signed=True), words)
    for length in (left + 1, (1 << 8 * size - 1) - 1):
        yield Change(BEYOND, length.to_bytes(size), _too_long(piece, length, left))


def _compact_length(pieces: Sequence[Piece], number: int) -> Changes:
    piece, left = pieces[number], _size(pieces, number + 1, len(pieces))
    yield _null(piece, b"\0")
    yield from _bad_varint(piece)
    for length in (left + 1, 2**32 - 2):
        yield Change(BEYOND, varint(length + 1), _too_long(piece, length, left))
    if pieces[number + 1].role == "text":
        data = varint(32769) + b"x" * 32768
        yield Change("long", data, "a string of 32768 bytes, more than 32767", piece.end)
        data = varint(32768) + b"x" * 32767
        yield Change("as long as may be", data, end=piece.end)


def _null(piece: Piece, null: bytes) -> Change:
    words = "" if piece.is_nullable else f"{_name(piece)} is null, which this version"
    return Change("null", null, words, piece.end)


def _too_long(piece: Piece, length: int, left: int) -> str:
    if piece.role.endswith("count"):
        # Arrays of numbers do not check how much is left: they are unpacked at once, or not at all.
        elements = f"{_name(piece)} has {length} elements, but {left} bytes are left"
        return f"{elements}|array of {length} numbers|ends early"
    return f"{_name(piece)} has length {length}, but {left} bytes are left|string of {length} bytes"


def _name(piece: Piece) -> str:
    return rf"\b{snake_case(piece.field)}"


def _marker(pieces: Sequence[Piece], number: int) -> Changes:
    yield Change("null", b"\xff", end=pieces[number].end)
    for marker in (0, 2, 127, -2, -128):
        yield Change(str(marker), marker.to_bytes(1, signed=True), f"marker {marker}, neither")


def _tagged_marker(pieces: Sequence[Piece], number: int) -> Changes:
    yield Change("null", b"\0", end=pieces[number].end)
    for marker in (2, 127, 128, 255):
        yield Change(str(marker), bytes((marker,)), f"marker {marker}, neither")


def _tag_count(pieces: Sequence[Piece], number: int) -> Changes:
    """Besides its number: each tag twice, and one that falls."""
    piece = pieces[number]
    yield from _bad_varint(piece)
    yield Change(BEYOND, varint(2**32 - 1), "ends early|must rise|are left|varint")
    count, start = varint(piece.data[0] + 1), number + 1
    while start < piece.end:
        end = pieces[start].end
        entry = b"".join(part.data for part in pieces[start:end])
        before = b"".join(part.data for part in pieces[number + 1 : start])
        yield Change("tag twice", count + before + entry * 2, "tags must rise", end)
        start = end
    falling = b"".join(part.data for part in pieces[number + 1 : start]) + varint(199) + b"\0"
    yield Change("tags fall", count + falling, "tag 199 after tag 200: tags must rise", start)


def _tag(pieces: Sequence[Piece], number: int) -> Changes:
    return _bad_varint(pieces[number])


def _tag_size(pieces: Sequence[Piece], number: int) -> Changes:
    piece, left = pieces[number], _size(pieces, number + 1, len(pieces))
    yield from _bad_varint(piece)
    for size in (left + 1, 2**32 - 1):
        yield Change(BEYOND, varint(size), f"of {size} bytes, but {left}")
    if pieces[number + 1].role != "unknown tag":
        size = _size(pieces, number + 1, piece.end)
        yield Change("one too few", varint(size - 1), "after its declared size")
        yield Change("none", b"\0", "after its declared size")
        yield Change("one too many", varint(size + 1), "before its declared size")


def _bad_varint(piece: Piece) -> Changes:
    groups = [byte | 0x80 for byte in piece.data]
    yield Change("not the shortest", bytes((*groups, 0)), "longer than its value needs")
    yield Change("of six bytes", b"\x80\x80\x80\x80\x80\x01", "more than 5 bytes")
    yield Change("of 33 bits", b"\x80\x80\x80\x80\x10", "above 32 bits")


def _text(pieces: Sequence[Piece], number: int) -> Changes:
    size = len(pieces[number].data)
    for what, wrong in NOT_UTF_8.items():
        yield Change(what, wrong.rjust(size, b"x"), "text that is not UTF-8")


def _bool(pieces: Sequence[Piece], number: int) -> Changes:
    for byte in (0, 1, 2, 0x7F, 0x80, 0xFF):
        yield Change(str(byte), bytes((byte,)))


def _number(pieces: Sequence[Piece], number: int) -> Changes:
    size = len(pieces[number].data)
    for edge in EDGES:
        yield Change(edge[:size].hex(), edge[:size])


def _anything(pieces: Sequence[Piece], number: int) -> Changes:
    size = len(pieces[number].data)
    for byte in (b"\0", b"\xff"):
        yield Change(f"only {byte.hex()}", byte * size)


CHANGES: dict[str, Callable[[Sequence[Piece], int], Changes]] = {
    "classic length": _classic_length,
    "classic count": _classic_length,
    "compact length": _compact_length,
    "compact count": _compact_length,
    "marker": _marker,
    "tagged marker": _tagged_marker,
    "tag count": _tag_count,
    "tag": _tag,
    "tag size": _tag_size,
    "text": _text,
    "bool": _bool,
    "number": _number,
    "uuid": _anything,
    "data": _anything,
    "unknown tag": _anything,
}
