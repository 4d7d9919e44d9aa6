"""The compiled and the generated decoders do the same, on good bytes and on bad ones."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from pyk.protocol import MalformedMessageError, known_messages
from pyk.protocol.codec import decoder, decoding
from support.broken_messages import claiming, samples, spoiled

IS_COMPILED = not decoding.__file__.endswith(".py")
SPOILED = 20

pytestmark = pytest.mark.skipif(not IS_COMPILED, reason="nothing is compiled: run `make native`")


@pytest.mark.parametrize("name", known_messages())
def test_both_decoders_say_the_same(name: str) -> None:
    chance = Random(name)
    for sample in samples(name):
        generated = decoder.compile_decoder(sample.cls, sample.version)
        compiled = decoding.compile_decoder(sample.cls, sample.version)
        broken = [change.data for change in claiming(sample)]
        for data in (
            sample.data,
            *broken,
            *(spoiled(sample.data, chance) for _ in range(SPOILED)),
        ):
            assert outcome(compiled, data) == outcome(generated, data)


@pytest.mark.parametrize("start", [1, 3, 10_000])
def test_both_forms_decode_from_a_given_start(start: int) -> None:
    for sample in samples("ProduceRequest"):
        data = b"x" * start + sample.data
        generated = decoder.compile_decoder(sample.cls, sample.version)
        compiled = decoding.compile_decoder(sample.cls, sample.version)

        assert compiled(data, start) == generated(data, start)
        assert outcome(compiled, sample.data, start) == outcome(generated, sample.data, start)


@pytest.mark.parametrize("wrap", [bytearray, memoryview, lambda data: memoryview(b"".join(
    bytes((byte, 0)) for byte in data))[::2]])  # fmt: skip
def test_both_forms_accept_any_bytes(wrap: Any) -> None:
    for sample in samples("ProduceRequest"):
        generated = decoder.compile_decoder(sample.cls, sample.version)
        compiled = decoding.compile_decoder(sample.cls, sample.version)

        assert compiled(wrap(sample.data), 0) == generated(wrap(sample.data), 0)


def outcome(decode: decoder.Decode, data: bytes, start: int = 0) -> Any:
    """Return the decoded message, or None if the bytes are refused.

    The words may differ: bytes with two errors are refused for the one that is noticed first.
    """
    try:
        message, end = decode(data, start)
    except MalformedMessageError:
        return None
    return repr(message), end
