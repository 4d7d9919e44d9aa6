from __future__ import annotations

import pytest

from pyk.protocol.records.varint import (
    decode_varint,
    decode_varlong,
    encode_varint,
    encode_varlong,
)


@pytest.mark.parametrize("value", [-(1 << 31) - 1, 1 << 31, 1 << 63])
def test_a_varint_holds_an_int32(value: int) -> None:
    with pytest.raises(OverflowError, match="does not fit a varint"):
        encode_varint(value)


@pytest.mark.parametrize("value", [-(1 << 63) - 1, 1 << 63])
def test_a_varlong_holds_an_int64(value: int) -> None:
    with pytest.raises(OverflowError, match="does not fit a varlong"):
        encode_varlong(value)


def test_a_varint_is_read_where_it_lies() -> None:
    data = b"??" + encode_varint(-300) + encode_varlong(1 << 40)

    value, position = decode_varint(data, 2, len(data))
    assert (value, position) == (-300, 4)
    assert decode_varlong(data, position, len(data)) == (1 << 40, len(data))
