"""Which functions and objects may be serializers and deserializers."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from pyk.clients.config import ConsumerConfig, ProducerConfig
from pyk.clients.errors import ConfigurationError
from pyk.clients.serialization import JsonDeserializer


@pytest.mark.parametrize(
    "function",
    [
        None,
        int,
        str,
        bytes.decode,
        json.loads,
        JsonDeserializer(),
        Mock(),
        lambda data, context=None: data,
    ],
)
def test_what_takes_the_bytes_of_a_key_may_be_a_deserializer(function: Any) -> None:
    config = ConsumerConfig.from_kwargs("a:1", key_deserializer=function)

    assert config.key_deserializer is function


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda data, context: data, r"is called with \(data\): missing a required argument"),
        (lambda: 5, r"is called with \(data\): too many positional arguments"),
        (asyncio.sleep, "must not be an async function: nothing would await it"),
        (SimpleNamespace(deserialize=5), r"must be a callable, or an object with deserialize\(to"),
        (
            SimpleNamespace(deserialize=lambda topic: b""),
            r"is called with \(topic, data\): too many positional arguments",
        ),
        (SimpleNamespace(deserialize=asyncio.wait), "must not be an async function"),
    ],
)
def test_what_could_convert_no_record_is_refused(function: Any, words: str) -> None:
    with pytest.raises(ConfigurationError, match=f"value_deserializer {words}"):
        ConsumerConfig.from_kwargs("a:1", value_deserializer=function)


def test_the_arguments_of_a_serializer_are_checked_too() -> None:
    with pytest.raises(ConfigurationError, match=r"key_serializer is called with \(data\): "):
        ProducerConfig.from_kwargs("a:1", key_serializer=lambda: b"")


def test_the_option_of_stored_offsets_says_what_is_committed() -> None:
    with pytest.raises(ConfigurationError, match="only what the application has finished is comm"):
        ConsumerConfig.from_kwargs("a:1", enable_auto_offset_store=False)
