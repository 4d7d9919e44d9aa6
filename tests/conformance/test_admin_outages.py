"""Calls of the admin client that change something, while a broker or the controller is killed.

Each ends, with a result or an error; an error that is definite is right that nothing was done; and
a call that failed can be repeated once the cluster works again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import attrs
import pytest
import pytest_asyncio

from pyk.clients import (
    AlterConfig,
    AsyncAdmin,
    ClientQuotaAlteration,
    ClientQuotaEntity,
    ConfigResource,
    KafkaError,
    NewTopic,
    Producer,
    ScramCredentialInfo,
    TopicPartition,
    UserScramCredentialUpsertion,
)
from pyk.clients.errors import (
    GroupIdNotFoundError,
    InvalidPartitionsError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)
from support.brokers import Kafka, make_topic

TIMES = 4
SECRET = ScramCredentialInfo("SCRAM-SHA-256", 4096)


@attrs.frozen
class Change:
    """A call for one of several names, how to see that it was done, and what says so, too."""

    call: Callable[[AsyncAdmin, str], Awaitable[Any]]
    is_done: Callable[[AsyncAdmin, str], Awaitable[bool]]
    done_before: tuple[type[KafkaError], ...] = ()


def quota(name: str) -> ClientQuotaEntity:
    return ClientQuotaEntity({"client-id": name})


async def has_topic(admin: AsyncAdmin, name: str) -> bool:
    return name in await admin.list_topics()


async def has_no_topic(admin: AsyncAdmin, name: str) -> bool:
    return not await has_topic(admin, f"{name}-old")


async def has_grown(admin: AsyncAdmin, name: str) -> bool:
    return (await admin.list_topics())[f"{name}-small"].partition_count == 2


async def has_setting(admin: AsyncAdmin, name: str) -> bool:
    resource = ConfigResource.group(name)
    settings = (await admin.describe_configs([resource]))[resource]
    return settings["consumer.session.timeout.ms"].value == "50000"


async def has_user(admin: AsyncAdmin, name: str) -> bool:
    return name in await admin.describe_user_scram_credentials()


async def has_quota(admin: AsyncAdmin, name: str) -> bool:
    return quota(name) in await admin.describe_client_quotas()


async def has_offset(admin: AsyncAdmin, name: str) -> bool:
    return bool(await admin.list_consumer_group_offsets(name))


async def has_no_group(admin: AsyncAdmin, name: str) -> bool:
    return f"{name}-old" not in {one.group_id for one in await admin.list_groups()}


def changes(place: TopicPartition) -> dict[str, Change]:
    return {
        "create a topic": Change(
            lambda a, n: a.create_topics([NewTopic(n, 1)], timeout=10),
            has_topic,
            (TopicAlreadyExistsError,),
        ),
        "delete a topic": Change(
            lambda a, n: a.delete_topics([f"{n}-old"], timeout=10),
            has_no_topic,
            (UnknownTopicOrPartitionError,),
        ),
        "create a partition": Change(
            lambda a, n: a.create_partitions({f"{n}-small": 2}, timeout=10),
            has_grown,
            (InvalidPartitionsError,),
        ),
        "alter a setting": Change(
            lambda a, n: a.incremental_alter_configs(
                {ConfigResource.group(n): [AlterConfig("consumer.session.timeout.ms", "50000")]},
                timeout=10,
            ),
            has_setting,
        ),
        "create a user": Change(
            lambda a, n: a.alter_user_scram_credentials(
                [UserScramCredentialUpsertion(n, SECRET, "secret")], timeout=10
            ),
            has_user,
        ),
        "alter a quota": Change(
            lambda a, n: a.alter_client_quotas(
                ClientQuotaAlteration(quota(n), {"producer_byte_rate": 1e6}), timeout=10
            ),
            has_quota,
        ),
        "commit an offset": Change(
            lambda a, n: a.alter_consumer_group_offsets(n, {place: 1}, timeout=10), has_offset
        ),
        "delete a group": Change(
            lambda a, n: a.delete_consumer_groups([f"{n}-old"], timeout=10),
            has_no_group,
            (GroupIdNotFoundError,),
        ),
    }


@pytest_asyncio.fixture
async def admin(kafka: Kafka) -> AsyncIterator[AsyncAdmin]:
    async with AsyncAdmin(kafka.bootstrap) as admin:
        yield admin


@pytest.fixture
def place(kafka: Kafka) -> TopicPartition:
    """A partition with a record."""
    topic = make_topic(kafka, "outages")
    with Producer(kafka.bootstrap) as producer:
        producer.send_and_wait(topic, b"1")
    return TopicPartition(topic, 0)


async def outcome(call: Awaitable[Any]) -> KafkaError | None:
    """Return the error of a call, None if it succeeded."""
    try:
        await call
    except KafkaError as error:
        return error
    return None


async def answered(change: Change, admin: AsyncAdmin, name: str) -> bool:
    """Return whether a change was done; a cluster that has just healed may not say at once."""
    while True:
        try:
            return await change.is_done(admin, name)
        except KafkaError as error:
            if not error.retriable:
                raise
            await asyncio.sleep(0.05)


async def becomes_done(change: Change, admin: AsyncAdmin, name: str) -> None:
    """Wait until a change is seen: one broker learns of it after the other."""
    async with asyncio.timeout(60):
        while not await answered(change, admin, name):
            await asyncio.sleep(0.05)


async def test_changes_end_while_the_controller_is_killed(
    kafka: Kafka, admin: AsyncAdmin, place: TopicPartition, group: str
) -> None:
    made = changes(place)
    todo = [(kind, f"{group}-{kind.replace(' ', '-')}-{n}") for kind in made for n in range(TIMES)]
    names = [name for _, name in todo]
    await admin.create_topics(
        [NewTopic(f"{name}-{which}", 1) for name in names for which in ("old", "small")]
    )
    for name in names:
        await admin.alter_consumer_group_offsets(f"{name}-old", {place: 0})
    controller = (await admin.describe_metadata_quorum()).leader_id

    killing = asyncio.create_task(asyncio.to_thread(kafka.kill_and_restart, controller))
    async with asyncio.timeout(60):
        errors = await asyncio.gather(
            *(outcome(made[kind].call(admin, name)) for kind, name in todo)
        )
    await killing

    for (kind, name), error in zip(todo, errors, strict=True):
        change = made[kind]
        if error is not None:
            assert not (error.definite and await answered(change, admin, name)), (kind, error)
            repeated = await outcome(change.call(admin, name))
            assert repeated is None or isinstance(repeated, change.done_before), (kind, repeated)
        await becomes_done(change, admin, name)
