"""Calls that the admin client makes of those of Kafka's Admin."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from pyk.clients import (
    Admin,
    AlterConfig,
    AsyncAdmin,
    ConfigResource,
    Consumer,
    GroupChangeType,
    KafkaTimeoutError,
    OffsetReset,
    Producer,
    TopicPartition,
    UnknownMemberIdError,
    Until,
)
from support.brokers import Kafka, make_topic
from support.real_time import eventually


@pytest.fixture
def admin(kafka: Kafka) -> Iterator[Admin]:
    with Admin(kafka.bootstrap) as admin:
        yield admin


@pytest.fixture
def place(kafka: Kafka, topic: str) -> TopicPartition:
    """A partition with ten records, one per second from 1970 on."""
    with Producer(kafka.bootstrap) as producer:
        for number in range(10):
            producer.send(topic, b"%d" % number, partition=0, timestamp_ms=1_000 * number)
    return TopicPartition(topic, 0)


@pytest.mark.parametrize(
    ("to", "offset"),
    [
        ("earliest", 0),
        ("latest", 10),
        (datetime(1970, 1, 1, 0, 0, 7, tzinfo=UTC), 7),
        (datetime(2020, 1, 1, tzinfo=UTC), 10),
        (timedelta(days=100_000), 0),
        (timedelta(0), 10),
    ],
    ids=str,
)
def test_a_group_is_reset_to_an_end_or_a_time(
    admin: Admin, place: TopicPartition, group: str, to: object, offset: int
) -> None:
    admin.alter_consumer_group_offsets(group, {place: 4})

    planned = admin.reset_offsets(group, to=to, dry_run=True)  # type: ignore[arg-type]
    unchanged = admin.list_consumer_group_offsets(group)[place]
    done = admin.reset_offsets(group, to=to)  # type: ignore[arg-type]

    committed = admin.list_consumer_group_offsets(group)[place]
    assert planned == done == {place: OffsetReset(4, offset)}
    assert unchanged is not None
    assert committed is not None
    assert (unchanged.offset, committed.offset) == (4, offset)


def test_offsets_that_are_given_are_kept_within_the_log(
    admin: Admin, place: TopicPartition, group: str
) -> None:
    admin.delete_records({place: 2})

    assert admin.reset_offsets(group, to={place: 5}) == {place: OffsetReset(None, 5)}
    assert admin.reset_offsets(group, to={place: 99}) == {place: OffsetReset(5, 10)}
    assert admin.reset_offsets(group, to={place: 0}) == {place: OffsetReset(10, 2)}


def test_a_group_without_offsets_is_reset_where_partitions_are_named(
    kafka: Kafka, place: TopicPartition, group: str
) -> None:
    async def main() -> None:
        async with AsyncAdmin(kafka.bootstrap) as admin:
            assert await admin.reset_offsets(group, to="latest") == {}
            done = await admin.reset_offsets(group, to="latest", partitions=[place])
            assert done == {place: OffsetReset(None, 10)}

    asyncio.run(main())


@pytest.mark.parametrize(
    ("to", "error"),
    [
        ("end", ValueError),
        (3, TypeError),
        (timedelta(seconds=-1), ValueError),
        (datetime(2020, 1, 1), ValueError),
    ],
    ids=str,
)
def test_an_invalid_target_of_a_reset_is_refused(
    admin: Admin, group: str, to: object, error: type[Exception]
) -> None:
    with pytest.raises(error, match="to must be"):
        admin.reset_offsets(group, to=to)  # type: ignore[arg-type]


def test_the_own_settings_of_a_topic_are_copied(kafka: Kafka, admin: Admin, topic: str) -> None:
    source = make_topic(kafka, "source", **{"retention.ms": "5000"})
    target = ConfigResource.topic(topic)
    admin.incremental_alter_configs({target: [AlterConfig("segment.ms", "70000")]})

    copied = admin.copy_topic_config(source, topic)

    def has_both() -> bool:
        found = admin.describe_configs([target])[target]
        return (found["retention.ms"].value, found["segment.ms"].value) == ("5000", "70000")

    assert copied["retention.ms"] == "5000"
    eventually(has_both)


def test_a_wait_returns_what_was_seen_and_tells_it_when_it_is_over(
    admin: Admin, place: TopicPartition, group: str
) -> None:
    described = admin.wait_until(Until.topic_has_leaders(place.topic, 3))
    assert len(described.partitions) == 3
    assert admin.wait_until(Until.offset_is_reached(place, 10)) == 10
    admin.alter_consumer_group_offsets(group, {place: 4})
    admin.wait_until(Until.group_is_empty(group))

    with pytest.raises(KafkaTimeoutError, match="last seen: a lag of 6"):
        admin.wait_until(Until.lag_is(group), timeout=1)
    admin.reset_offsets(group, to="latest")
    assert admin.wait_until(Until.lag_is(group))[place].lag == 0
    admin.delete_topics([place.topic])
    admin.wait_until(Until.topic_is_deleted(place.topic))


def test_groups_are_watched_as_they_come_and_go(
    kafka: Kafka, admin: Admin, place: TopicPartition, group: str
) -> None:
    admin.alter_consumer_group_offsets(group, {place: 4})
    changes = (one for one in admin.watch_groups(every=0.1) if one.group_id == group)

    assert next(changes).type is GroupChangeType.ADDED
    admin.delete_consumer_groups([group])
    assert next(changes).type is GroupChangeType.REMOVED

    async def main() -> None:
        async with AsyncAdmin(kafka.bootstrap) as async_admin:
            await async_admin.alter_consumer_group_offsets(group, {place: 4})
            await async_admin.wait_until(Until.lag_is(group, 6))
            async for change in async_admin.watch_groups():
                if change.group_id == group:
                    break
            assert (await async_admin.lag(group))[place].lag == 6

    asyncio.run(main())


def test_a_group_with_members_is_not_reset(
    kafka: Kafka, admin: Admin, place: TopicPartition, group: str
) -> None:
    with Consumer(kafka.bootstrap, topics=[place.topic], group_id=group) as consumer:
        while not consumer.assignment():
            consumer.poll(0.1)
        admin.wait_until(Until.group_is_stable(group))
        with pytest.raises(UnknownMemberIdError, match=f"group '{group}' has members.*stop them"):
            admin.reset_offsets(group, to={place: 1})
