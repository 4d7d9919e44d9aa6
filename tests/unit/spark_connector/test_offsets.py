"""Offsets as JSON: Spark's own format, and the same text for equal offsets."""

from __future__ import annotations

import json

import pytest

from pyk.clients.topic_partition import TopicPartition
from pyk.spark_connector.errors import CheckpointError
from pyk.spark_connector.offsets import StreamOffset, describe

A0, A2, A10, B0 = (
    TopicPartition("a", 0),
    TopicPartition("a", 2),
    TopicPartition("a", 10),
    TopicPartition("b", 0),
)


def test_equal_offsets_have_the_same_json() -> None:
    one = StreamOffset({B0: 1, A10: 2, A2: 3, A0: 4})
    other = StreamOffset({A0: 4, A2: 3, A10: 2, B0: 1})

    assert json.dumps(one.to_json()) == json.dumps(other.to_json())
    assert json.dumps(one.to_json()) == '{"a": {"0": 4, "2": 3, "10": 2}, "b": {"0": 1}}'


def test_batch_0_carries_its_start() -> None:
    offset = StreamOffset({A0: 9, A2: 5, B0: 1}, start={A0: 4, A2: 5})

    assert offset.to_json() == {
        "@start": {},
        "@start:a:0=4,2=5": {},
        "a": {"0": 9, "2": 5},
        "b": {"0": 1},
    }
    assert StreamOffset.from_json(offset.to_json()) == offset


def test_batch_0_of_a_query_without_partitions_carries_an_empty_start() -> None:
    offset = StreamOffset({A0: 9}, start={})

    assert StreamOffset.from_json(offset.to_json()) == offset


def test_offsets_carry_the_ids_of_their_topics() -> None:
    offset = StreamOffset({A0: 9, B0: 1}, topic_ids={"a": "oKTBKFEkRY6xlCGNrc_uLg"})

    assert offset.to_json() == {
        "@id:a:oKTBKFEkRY6xlCGNrc_uLg": {},
        "a": {"0": 9},
        "b": {"0": 1},
    }
    assert StreamOffset.from_json(offset.to_json()) == offset


def test_the_additional_entries_hold_no_partition_for_sparks_own_source() -> None:
    """Spark's source reads maps of partition numbers to offsets by topic: empty maps are safe."""
    offset = StreamOffset({A0: 9}, start={A0: 4, B0: 1}, topic_ids={"a": "x", "b": "y"})

    added = {name: value for name, value in offset.to_json().items() if name != "a"}

    assert set(map(json.dumps, added.values())) == {"{}"}


def test_the_earlier_format_of_the_start_is_read() -> None:
    assert StreamOffset.from_json({"@start": {"a": {"0": 4}}, "a": {"0": 9}}) == StreamOffset(
        {A0: 9}, start={A0: 4}
    )


def test_offsets_of_sparks_own_source_are_read() -> None:
    written_by_spark = json.loads('{"b":{"0":7},"a":{"10":2,"2":3}}')

    assert StreamOffset.from_json(written_by_spark) == StreamOffset({A2: 3, A10: 2, B0: 7})


@pytest.mark.parametrize(
    "value",
    [
        {"a": 5},
        {"a": {"x": 5}},
        {"a": {"0": None}},
        {"a": {"0": True}},
        {"@start": [], "a": {}},
        {"@start:a:0": {}},
        {"@start:a:x=1": {}},
        {"@later:a:1": {}},
    ],
)
def test_the_error_for_an_invalid_checkpoint_shows_it(value: dict[str, object]) -> None:
    with pytest.raises(CheckpointError, match="invalid offsets"):
        StreamOffset.from_json(value)


def test_a_message_does_not_list_thousands_of_partitions() -> None:
    text = describe(TopicPartition("a", number) for number in range(5000))

    assert text.startswith("a-0, a-1, a-2")
    assert text.endswith("a-19 and 4980 more")
