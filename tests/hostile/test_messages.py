"""Malformed messages: every piece of every message in every version, broken once.

Decoding any bytes returns a message or raises a ProtocolError. For every kind of damage, the test
knows which of them, and the words of the error.
"""

from __future__ import annotations

import random
import re

import pytest

from golden.protocol_facts import schemas
from pyk.protocol import (
    MalformedMessageError,
    Message,
    ProtocolError,
    known_messages,
)
from support.broken_messages import accepted, refused, samples, spoiled
from support.message_values import filled_message
from support.table_codec import Reader

NAMES = known_messages()


@pytest.mark.parametrize("name", NAMES)
def test_a_message_with_something_in_every_field_is_read(name: str) -> None:
    for cls, version, _, data in samples(name):
        message = cls.decode(data, version)

        assert message.to_json(version) == filled_message(schemas()[name], version)
        assert message.encode(version) == data


@pytest.mark.parametrize("name", NAMES)
def test_the_error_for_a_broken_field_says_what_is_wrong_with_it(name: str) -> None:
    for sample in samples(name):
        for broken in refused(sample):
            error = _error(sample.cls, sample.version, broken.data)

            assert error.startswith(f"{name} v{sample.version}: "), broken.what
            assert re.search(broken.words, error), broken.what


@pytest.mark.parametrize("name", NAMES)
def test_an_unusual_but_valid_encoding_is_decoded_like_the_table_codec_does(name: str) -> None:
    schema = schemas()[name]

    for sample in samples(name):
        for odd in accepted(sample):
            message = sample.cls.decode(odd.data, sample.version)

            judged = Reader(schema, sample.version, odd.data).message()
            assert message.to_json(sample.version) == judged, odd.what


@pytest.mark.parametrize("name", NAMES)
def test_a_message_truncated_anywhere_is_refused(name: str) -> None:
    for cls, version, _, data in samples(name):
        for end in range(len(data)):
            assert re.search("ends early|are left", _error(cls, version, data[:end]))


@pytest.mark.parametrize("name", NAMES)
def test_a_message_with_trailing_bytes_is_refused(name: str) -> None:
    for cls, version, _, data in samples(name):
        end = len(data)

        assert f"ends at byte {end}, but 1 bytes follow" in _error(cls, version, data + b"\0")


@pytest.mark.parametrize("name", NAMES)
def test_random_damage_results_in_a_message_or_a_protocol_error(name: str) -> None:
    chance = random.Random(name)

    for cls, version, _, data in samples(name):
        for _ in range(40):
            try:
                written = cls.decode(spoiled(data, chance), version).encode(version)
            except ProtocolError:
                continue
            assert cls.decode(written, version).encode(version) == written


def _error(cls: type[Message], version: int, data: bytes) -> str:
    """Return the message of the error for these bytes, "" without an error."""
    try:
        cls.decode(data, version)
    except MalformedMessageError as error:
        return str(error)
    return ""
