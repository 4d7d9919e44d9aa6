"""Bytes that are no message: every piece of every message of every version, broken once.

Whatever the bytes, decoding ends in a message or in a ProtocolError, and takes little memory.
"""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from golden.protocol_facts import message_vectors, schemas
from pyk.protocol import (
    MalformedMessageError,
    Message,
    ProtocolError,
    known_messages,
    message_class,
)
from support.table_codec import Piece, Writer

NAMES = [name for name in known_messages() if message_vectors(name)]
HUGE = bytes([0xFF, 0xFF, 0xFF, 0xFF, 0x0F])  # 2**32 - 1 as a varint
MEMORY_LIMIT = 256 * 1024

# What a piece is replaced with, and whether that can never be right.
ALWAYS_WRONG = {
    "compact length": [HUGE, b"\x80\x00", b"\xff\xff\xff\xff\x1f", b"\xff\xff\xff\xff\xff\x01"],
    "tag count": [HUGE, b"\xff\xff\xff\xff\x07", b"\x80\x00", b"\xff\xff\xff\xff\xff\x01"],
    "tag": [b"\x80\x80\x00"],
    "tag size": [HUGE, b"\xff\x7f", b"\x81\x00"],
    "marker": [b"\x00", b"\x02", b"\x80"],
}


@pytest.mark.parametrize("name", NAMES)
def test_a_broken_piece_is_refused(name: str) -> None:
    for cls, version, data, pieces in _samples(name):
        for broken in _broken_for_sure(data, pieces):
            with pytest.raises(MalformedMessageError, match=name):
                cls.decode(broken, version)


@pytest.mark.parametrize("name", NAMES)
def test_a_message_cut_anywhere_is_refused(name: str) -> None:
    for cls, version, data, _ in _samples(name):
        for end in range(len(data)):
            with pytest.raises(MalformedMessageError, match=name):
                cls.decode(data[:end], version)


@pytest.mark.parametrize("name", NAMES)
def test_a_message_with_more_behind_it_is_refused(name: str) -> None:
    for cls, version, data, _ in _samples(name):
        with pytest.raises(MalformedMessageError, match="follow"):
            cls.decode(data + b"\0", version)


@pytest.mark.parametrize("name", NAMES)
def test_flipped_and_shuffled_bytes_end_in_a_message_or_a_protocol_error(name: str) -> None:
    chance = random.Random(name)

    for cls, version, data, _ in _samples(name):
        for _ in range(40):
            _decode_or_refuse(cls, _spoiled(data, chance), version)


@pytest.mark.parametrize("name", NAMES)
def test_broken_bytes_take_no_memory(name: str) -> None:
    attempts = [
        (cls, version, broken)
        for cls, version, data, pieces in _samples(name)
        for broken in _broken_for_sure(data, pieces)
    ]
    for cls, version, broken in attempts:
        _decode_or_refuse(cls, broken, version)  # the codec of a version is made on first use

    tracemalloc.start()
    for cls, version, broken in attempts:
        _decode_or_refuse(cls, broken, version)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < MEMORY_LIMIT


def _samples(name: str) -> Iterator[tuple[type[Message], int, bytes, list[Piece]]]:
    """Return one message of every version, the longest of its vectors, with its pieces."""
    cls, schema = message_class(name), schemas()[name]
    longest: dict[int, Any] = {}
    for vector in sorted(message_vectors(name), key=lambda vector: len(vector["hex"])):
        longest[vector["version"]] = vector["json"]
    for version, value in longest.items():
        writer = Writer(schema, version)
        yield cls, version, writer.message(value), writer.pieces


def _broken_for_sure(data: bytes, pieces: list[Piece]) -> Iterator[bytes]:
    for piece in pieces:
        for wrong in _wrong_pieces(piece):
            yield data[: piece.start] + wrong + data[piece.end :]


def _wrong_pieces(piece: Piece) -> list[bytes]:
    size = piece.end - piece.start
    if piece.role == "classic length":
        return [number.to_bytes(size, signed=True) for number in (-2, 2 ** (8 * size - 1) - 1)]
    if piece.role == "text" and size:
        return [b"\xff" * size]
    return ALWAYS_WRONG.get(piece.role, [])


def _spoiled(data: bytes, chance: random.Random) -> bytes:
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


def _decode_or_refuse(cls: type[Message], data: bytes, version: int) -> None:
    try:
        message = cls.decode(data, version)
    except ProtocolError:
        return
    assert cls.decode(message.encode(version), version) == message
