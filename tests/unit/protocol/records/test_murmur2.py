from __future__ import annotations

import pytest

from pyk.protocol.records.murmur2 import murmur2, partition_for_key


@pytest.mark.parametrize(
    ("key", "value"),
    [(b"21", -973932308), (b"foobar", -790332482), (b"a-little-bit-long-string", -985981536)],
)
def test_hashes_are_those_of_kafka(key: bytes, value: int) -> None:
    assert murmur2(key) == value


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_keys_are_any_bytes(kind: type) -> None:
    assert murmur2(kind(b"foobar")) == -790332482


def test_a_partition_is_never_negative() -> None:
    assert {partition_for_key(b"key %d" % number, 5) for number in range(100)} == set(range(5))
