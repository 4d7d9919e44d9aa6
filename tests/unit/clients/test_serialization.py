"""Serializers and deserializers for the kinds of keys and values that Kafka's own have."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from pyk.clients import (
    DoubleDeserializer,
    DoubleSerializer,
    IntegerDeserializer,
    IntegerSerializer,
    JsonDeserializer,
    JsonSerializer,
    LongDeserializer,
    LongSerializer,
    StringDeserializer,
    StringSerializer,
)


@pytest.mark.parametrize(
    ("serializer", "deserializer", "data", "stored"),
    [
        (StringSerializer(), StringDeserializer(), "Grüße", "Grüße".encode()),
        (StringSerializer("latin-1"), StringDeserializer("latin-1"), "ü", b"\xfc"),
        (
            JsonSerializer(),
            JsonDeserializer(),
            {"ü": [1, None, True]},
            '{"ü":[1,null,true]}'.encode(),
        ),
        (IntegerSerializer(), IntegerDeserializer(), -2, b"\xff\xff\xff\xfe"),
        (LongSerializer(), LongDeserializer(), 1, b"\0\0\0\0\0\0\0\1"),
        (DoubleSerializer(), DoubleDeserializer(), 1.5, b"?\xf8\0\0\0\0\0\0"),
    ],
)
def test_serializers_and_deserializers_use_the_formats_of_kafka(
    serializer: Any, deserializer: Any, data: object, stored: bytes
) -> None:
    assert serializer.serialize("orders", data) == stored
    assert deserializer.deserialize("orders", stored) == data


@pytest.mark.parametrize(
    ("serializer", "data", "error", "words"),
    [
        (StringSerializer(), 5, TypeError, "StringSerializer takes str, not int"),
        (StringSerializer(), b"5", TypeError, "StringSerializer takes str, not bytes"),
        (JsonSerializer(), {1, 2}, TypeError, "set is not JSON serializable"),
        (JsonSerializer(), float("nan"), ValueError, "not JSON compliant"),
        (IntegerSerializer(), "5", TypeError, "IntegerSerializer takes int, not str"),
        (IntegerSerializer(), True, TypeError, "IntegerSerializer takes int, not bool"),
        (IntegerSerializer(), 2**31, ValueError, "IntegerSerializer"),
        (LongSerializer(), 1.5, TypeError, "LongSerializer takes int, not float"),
        (DoubleSerializer(), "x", TypeError, "DoubleSerializer takes float, not str"),
    ],
)
def test_values_that_do_not_fit_are_refused(
    serializer: Any, data: object, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        serializer.serialize("orders", data)


@pytest.mark.parametrize(
    ("deserializer", "stored", "words"),
    [
        (StringDeserializer(), b"\xff", "can't decode"),
        (JsonDeserializer(), b"{", "Expecting"),
        (IntegerDeserializer(), b"12345678", "IntegerDeserializer takes 4 bytes, not 8"),
        (LongDeserializer(), b"", "LongDeserializer takes 8 bytes, not 0"),
    ],
)
def test_bytes_of_another_form_are_refused(deserializer: Any, stored: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        deserializer.deserialize("orders", stored)


def test_json_encodes_other_types_with_a_default() -> None:
    day = datetime.date(2026, 11, 22)

    assert JsonSerializer(default=str).serialize("orders", [day]) == b'["2026-11-22"]'
