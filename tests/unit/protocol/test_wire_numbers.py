"""Numbers as they lie on the wire."""

from __future__ import annotations

import pytest

from pyk.protocol.codec.wire import read_varint
from pyk.protocol.wire_numbers import (
    append_bytes,
    append_int32,
    append_varint,
    bytearray_of,
    get_int32,
    put_int32,
    put_int64,
)

INT32S = [0, 1, -1, 255, 256, -256, 2**31 - 1, -(2**31)]


@pytest.mark.parametrize("number", INT32S)
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_an_int32_is_read_back(number: int, kind: type) -> None:
    out = bytearray(b"abcdefg")

    put_int32(out, 2, number)

    assert out == b"ab" + number.to_bytes(4, "big", signed=True) + b"g"
    assert get_int32(kind(bytes(out)), 2) == number


@pytest.mark.parametrize("number", INT32S)
def test_an_int32_is_appended(number: int) -> None:
    out = bytearray(b"a")

    append_int32(out, number)

    assert out == b"a" + number.to_bytes(4, "big", signed=True)


@pytest.mark.parametrize("position", [-1, 2, 5, 1 << 40])
def test_an_int32_beyond_the_data_is_refused(position: int) -> None:
    with pytest.raises(IndexError, match="no int32 at byte"):
        get_int32(b"12345", position)

    with pytest.raises(IndexError, match="no int32 at byte"):
        put_int32(bytearray(b"12345"), position, 0)


@pytest.mark.parametrize("number", [0, 1, -1, 2**40, 2**63 - 1, -(2**63)])
def test_an_int64_is_written_over_eight_bytes(number: int) -> None:
    out = bytearray(b"abcdefghijk")

    put_int64(out, 2, number)

    assert out == b"ab" + number.to_bytes(8, "big", signed=True) + b"k"


@pytest.mark.parametrize("position", [-1, 2, 9, 1 << 40])
def test_an_int64_beyond_the_data_is_refused(position: int) -> None:
    with pytest.raises(IndexError, match="no int64 at byte"):
        put_int64(bytearray(b"123456789"), position, 0)


def test_a_bytearray_is_a_copy() -> None:
    start = b"ab\x00c"

    copy = bytearray_of(start)
    copy[0] = 0

    assert (start, copy) == (b"ab\x00c", b"\x00b\x00c")


@pytest.mark.parametrize("data", [b"", b"b\x00c", bytearray(b"b\x00c"), bytes(100_000)])
def test_bytes_are_appended(data: bytes | bytearray) -> None:
    out = bytearray(b"a")

    append_bytes(out, data)

    assert out == b"a" + data


def test_a_bytearray_is_not_appended_to_itself() -> None:
    out = bytearray(b"ab")

    with pytest.raises(BufferError):
        append_bytes(out, out)

    assert out == b"ab"


@pytest.mark.parametrize("shift", range(33))
def test_a_varint_is_read_back(shift: int) -> None:
    for number in {(1 << shift) - 1, min(1 << shift, 0xFFFFFFFF)}:
        out = bytearray(b"a")

        append_varint(out, number)

        assert read_varint(bytes(out), 1) == (number, len(out))
