"""What an application means by the arguments of ``Admin``."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.clients import AsyncAdmin, ConfigResource, NewTopic, TopicPartition
from pyk.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from pyk.runtime.virtual_time import virtual_time
from support.administering import administered


@virtual_time
async def test_one_name_is_no_sequence_of_letters() -> None:
    async with administered() as (cluster, admin):
        done = DeletableTopicResult(name="orders", error_code=0)
        cluster.on(DeleteTopicsRequest, DeleteTopicsResponse(responses=[done]))

        await admin.delete_topics("orders")

        message = cluster.requests(DeleteTopicsRequest)[0].message
        assert [state.name for state in message.topics] == ["orders"]


@virtual_time
async def test_a_topic_to_create_is_more_than_a_name() -> None:
    async with administered() as (_, admin):
        with pytest.raises(TypeError, match=r"is NewTopic\(name, …\), not 'orders'"):
            await admin.create_topics(["orders"])  # type: ignore[list-item]


ORDERS = TopicPartition("orders", 0)


@pytest.mark.parametrize(
    ("call", "given", "words"),
    [
        (
            "describe_configs",
            [("topic", "m")],
            r"ConfigResource\.topic\(name\).*not \('topic', 'm'\)",
        ),
        ("describe_configs", "orders", r"give a sequence of ConfigResource\.topic"),
        (
            "incremental_alter_configs",
            [("orders", {})],
            r"give \{ConfigResource\.topic\(name\): \[",
        ),
        (
            "incremental_alter_configs",
            {"orders": []},
            r"ConfigResource\.topic\(name\).*not 'orders'",
        ),
        (
            "incremental_alter_configs",
            {ConfigResource.topic("orders"): {"retention.ms": "1"}},
            r"AlterConfig\(name, value\).*not 'retention\.ms'",
        ),
        ("describe_topics", 5, "give a sequence of str, each a topic, not 5"),
        ("describe_topics", [5], "a topic must be a str, not 5"),
        ("delete_topics", [NewTopic("orders")], "a topic must be a str, not NewTopic"),
        ("create_partitions", [("orders", 3)], r"give \{topic: number of partitions\}"),
        ("create_partitions", {"orders": "3"}, "a number of partitions must be an int, not '3'"),
        ("delete_records", {"orders": 3}, r"TopicPartition\(topic, partition\), not 'orders'"),
        ("delete_records", {ORDERS: "3"}, "an offset must be an int, not '3'"),
        ("list_offsets", [ORDERS], r"give \{TopicPartition\(topic, partition\): OffsetSpec"),
        ("list_offsets", {ORDERS: "latest"}, r"OffsetSpec\.LATEST or a time.*not 'latest'"),
        ("list_offsets", {ORDERS: 1.5}, "a time in milliseconds since 1970, not 1.5"),
        ("describe_consumer_groups", [None], "a group id must be a str, not None"),
        ("delete_consumer_groups", None, "each a group id, not None"),
        ("list_consumer_group_offsets", ["g"], r"a group id must be a str, not \['g'\]"),
        ("create_topics", [None], r"NewTopic\(name, …\), not None"),
    ],
)
def test_the_error_for_an_argument_of_the_wrong_shape_shows_the_valid_form(
    call: str, given: Any, words: str
) -> None:
    admin = AsyncAdmin("localhost:1")

    with pytest.raises(TypeError, match=words):
        asyncio.run(getattr(admin, call)(given))


@pytest.mark.parametrize(
    ("call", "given", "words"),
    [
        (
            "alter_consumer_group_offsets",
            {ORDERS: "5"},
            "an offset to commit must be an int or Off",
        ),
        ("alter_consumer_group_offsets", {("orders", -1): 5}, "must be 0 or more"),
        ("delete_consumer_group_offsets", ["orders"], r"be TopicPartition\(topic, partition\)"),
        ("list_consumer_group_offsets", "orders", r"a sequence of TopicPartition\(topic"),
    ],
)
def test_group_arguments_are_validated_before_connecting(call: str, given: Any, words: str) -> None:
    admin = AsyncAdmin("localhost:1")

    with pytest.raises((TypeError, ValueError), match=words):
        asyncio.run(getattr(admin, call)("group", given))


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        (5, {}, "the name of a topic must be a str, not 5"),
        ("m", {"partitions": "3"}, r"partitions of NewTopic\('m'\) must be an int, not '3'"),
        ("m", {"replication_factor": 1.0}, "replication_factor of .* must be an int, not 1.0"),
        ("m", {"configs": {"retention.ms": 1}}, "retention.ms must be a str, not 1"),
    ],
)
def test_a_topic_to_create_is_checked_when_it_is_written_down(
    name: Any, arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(TypeError, match=words):
        NewTopic(name, **arguments)


def test_a_timeout_must_be_a_number_of_seconds() -> None:
    admin = AsyncAdmin("localhost:1")
    timeout: Any = "5"

    with pytest.raises(TypeError, match="timeout must be a number of seconds, not '5'"):
        asyncio.run(admin.list_topics(timeout=timeout))
