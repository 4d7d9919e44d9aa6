from __future__ import annotations

import hashlib
from typing import Any

import pytest

from golden.protocol_facts import large_messages, message_vectors, schemas
from pyk.protocol import Message, known_messages, message_class
from support.table_codec import Reader, Writer

NAMES = [name for name in known_messages() if message_vectors(name)]
COUNTING = bytes(i % 256 for i in range(300))

LARGE: dict[str, dict[str, Any]] = {
    "topics t0 .. t199": {"topics": [{"name": f"t{i}"} for i in range(200)]},
    "group g, topic t, partitions 0 .. 19999": {
        "groupId": "g",
        "topics": [{"name": "t", "partitionIndexes": list(range(20000))}],
    },
    "auth bytes i mod 256 for i = 0 .. 299": {"authBytes": COUNTING.hex()},
    "key of 32767 times k": {"key": "k" * 32767},
    "topics null, unknown tag 130 with the bytes i mod 256 for i = 0 .. 299": {
        "topics": None,
        "_unknownTaggedFields": [{"tag": 130, "data": COUNTING.hex()}],
    },
    "acks 1, timeout 1000, topic t, partition 0, records empty (not null)": {
        "acks": 1,
        "timeoutMs": 1000,
        "topicData": [{"name": "t", "partitionData": [{"index": 0, "records": ""}]}],
    },
    "a: 0, 3; b: 1; generation 7": {
        "previousAssignment": [
            {"topic": "a", "partitions": [0, 3]},
            {"topic": "b", "partitions": [1]},
        ],
        "generation": 7,
    },
    "generation 7": {"generation": 7},
}


@pytest.mark.parametrize("name", NAMES)
def test_bytes_of_kafka_decode_to_their_values_and_encode_to_the_same_bytes(name: str) -> None:
    cls = message_class(name)

    for vector in message_vectors(name):
        version, data = vector["version"], bytes.fromhex(vector["hex"])

        message = cls.decode(data, version)

        assert message.to_json(version) == vector["json"]
        assert message.encode(version) == data
        assert cls.from_json(vector["json"], version) == message


@pytest.mark.parametrize("name", NAMES)
def test_the_table_codec_agrees_with_the_bytes_of_kafka(name: str) -> None:
    schema = schemas()[name]

    for vector in message_vectors(name):
        version, data = vector["version"], bytes.fromhex(vector["hex"])

        assert Reader(schema, version, data).message() == vector["json"]
        assert Writer(schema, version).message(vector["json"]) == data


@pytest.mark.parametrize("name", NAMES)
def test_every_version_has_a_vector(name: str) -> None:
    assert {vector["version"] for vector in message_vectors(name)} == set(
        message_class(name).versions
    )


@pytest.mark.parametrize("vector", large_messages(), ids=lambda vector: vector["recipe"])
def test_large_messages_have_the_bytes_of_kafka(vector: dict[str, Any]) -> None:
    message = _of_recipe(vector)

    data = message.encode(vector["version"])

    assert len(data) == vector["bytes"]
    assert _matches(data, vector)
    assert type(message).decode(data, vector["version"]) == message


def _of_recipe(vector: dict[str, Any]) -> Message:
    return message_class(vector["message"]).from_json(LARGE[vector["recipe"]], vector["version"])


def _matches(data: bytes, vector: dict[str, Any]) -> bool:
    return data.hex() == vector.get("hex") or hashlib.sha256(data).hexdigest() == vector.get(
        "sha256"
    )
