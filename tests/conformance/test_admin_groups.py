"""Calls of the admin client about groups and their members, with the same answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest

from pyk.clients import (
    AclOperation,
    Admin,
    AsyncAdmin,
    Consumer,
    GroupIdNotFoundError,
    GroupSubscribedToTopicError,
    OffsetAndMetadata,
    TopicPartition,
)
from pyk.clients.errors import SeveralErrors, UnknownMemberIdError, UnknownTopicOrPartitionError
from pyk.protocol.messages.find_coordinator import FindCoordinatorRequest
from pyk.protocol.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    Subtopology,
    Topology,
)
from support.brokers import Kafka
from support.raw_client import RawClient
from support.real_time import eventually

ALL_OF_A_GROUP = {
    AclOperation.READ,
    AclOperation.DELETE,
    AclOperation.DESCRIBE,
    AclOperation.DESCRIBE_CONFIGS,
    AclOperation.ALTER_CONFIGS,
}


@pytest.fixture
def admin(kafka: Kafka) -> Iterator[Admin]:
    with Admin(kafka.bootstrap) as admin:
        yield admin


@contextmanager
def member(
    kafka: Kafka, topic: str, group: str, instance_id: str | None = None, protocol: str = "classic"
) -> Iterator[Consumer[bytes, bytes]]:
    """Have a member in a group."""
    with Consumer(
        kafka.bootstrap,
        topics=[topic],
        group_id=group,
        group_protocol=protocol,
        group_instance_id=instance_id,
        enable_auto_commit=False,
    ) as consumer:
        while not consumer.assignment():
            consumer.poll(0.1)
        yield consumer


def test_a_classic_group_is_described_with_its_protocol_and_members(
    kafka: Kafka, admin: Admin, topic: str, group: str
) -> None:
    with member(kafka, topic, group) as consumer:
        described = admin.describe_classic_groups([group], authorized_operations=True)[group]
        assignment = consumer.assignment()

    (one,) = described.members
    assert (described.state, described.protocol_type, described.protocol) == (
        "Stable",
        "consumer",
        "range",
    )
    assert set(one.assignment) == set(assignment)
    assert not described.is_simple
    assert described.authorized_operations == ALL_OF_A_GROUP


def test_a_group_of_another_type_is_not_classic(
    kafka: Kafka, admin: Admin, topic: str, group: str
) -> None:
    with member(kafka, topic, group, protocol="consumer"):
        with pytest.raises(GroupIdNotFoundError):
            admin.describe_classic_groups([group])
        described = admin.describe_consumer_groups([group], authorized_operations=True)[group]

    assert described.authorized_operations == ALL_OF_A_GROUP
    assert admin.describe_consumer_groups([group])[group].authorized_operations is None


def test_a_static_member_is_removed_and_an_unknown_one_is_an_error(
    kafka: Kafka, admin: Admin, topic: str, group: str
) -> None:
    with member(kafka, topic, group, "first"):
        with pytest.raises(SeveralErrors) as raised:
            admin.remove_members_from_consumer_group(group, ["first", "second"], reason="upgrade")
        with pytest.raises(UnknownMemberIdError, match="'first'"):
            admin.remove_members_from_consumer_group(group, ["first"])

    assert set(raised.value.results) == {"first"}
    assert isinstance(raised.value.errors["second"], UnknownMemberIdError)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("instance_id", [None, "static"])
def test_all_members_of_a_group_are_removed(
    kafka: Kafka, admin: Admin, topic: str, group: str, protocol: str, instance_id: str | None
) -> None:
    with member(kafka, topic, group, instance_id, protocol):
        admin.remove_members_from_consumer_group(group)

        assert admin.describe_consumer_groups([group])[group].members == ()


def test_an_unknown_group_has_no_members_to_remove(admin: Admin, group: str) -> None:
    with pytest.raises(GroupIdNotFoundError, match=group):
        admin.remove_members_from_consumer_group(group)
    with pytest.raises(UnknownMemberIdError):
        admin.remove_members_from_consumer_group(group, ["first"])


def test_groups_of_consumers_are_listed_by_type(
    kafka: Kafka, admin: Admin, topic: str, group: str
) -> None:
    place = TopicPartition(topic, 0)
    admin.alter_consumer_group_offsets(f"{group}-offsets", {place: 0})

    def has_altered() -> bool:
        try:
            admin.alter_share_group_offsets(f"{group}-share", {place: 0})
        except UnknownTopicOrPartitionError:  # Kafka has only just created the topic
            return False
        return True

    eventually(has_altered)

    def of_type(kind: str) -> set[str]:
        return {one.group_id for one in admin.list_consumer_groups(types=[kind])}

    def of_protocol(name: str) -> set[str]:
        return {one.group_id for one in admin.list_groups(protocol_types=[name])}

    with member(kafka, topic, group, protocol="consumer"):
        # Kafka lists what its log has committed, a moment after it has answered.
        eventually(lambda: f"{group}-share" in of_protocol("share"))
        eventually(
            lambda: f"{group}-offsets" in of_type("classic") and group in of_type("consumer")
        )
        listed = {one.group_id for one in admin.list_consumer_groups()}
        of_new_type, by_protocol = of_type("consumer"), of_protocol("share")

    assert {group, f"{group}-offsets"} <= listed
    assert f"{group}-share" not in listed
    assert f"{group}-offsets" not in of_new_type
    assert group not in by_protocol


def test_offsets_of_several_groups_are_listed_at_once(admin: Admin, topic: str, group: str) -> None:
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    admin.alter_consumer_group_offsets(f"{group}-a", {first: 1, second: 2})
    admin.alter_consumer_group_offsets(f"{group}-b", {first: 3})

    found = admin.list_consumer_group_offsets(
        {f"{group}-a": None, f"{group}-b": [first, second], f"{group}-c": None}
    )

    assert found == {
        f"{group}-a": {first: OffsetAndMetadata(1), second: OffsetAndMetadata(2)},
        f"{group}-b": {first: OffsetAndMetadata(3), second: None},
        f"{group}-c": {},
    }


def test_offsets_of_a_subscribed_topic_or_an_unknown_one_are_refused(
    kafka: Kafka, admin: Admin, topic: str, group: str
) -> None:
    place = TopicPartition(topic, 0)
    with member(kafka, topic, group), pytest.raises(GroupSubscribedToTopicError):
        admin.delete_consumer_group_offsets(group, [place])
    with pytest.raises(SeveralErrors) as raised:
        admin.alter_consumer_group_offsets(group, {place: 1, TopicPartition(topic, 99): 1})

    assert set(raised.value.results) == {place}
    assert isinstance(raised.value.errors[TopicPartition(topic, 99)], UnknownTopicOrPartitionError)


def test_offsets_of_a_streams_group_are_those_of_a_consumer_group(
    admin: Admin, topic: str, group: str
) -> None:
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)

    admin.alter_streams_group_offsets(group, {first: 1, second: 2})
    admin.delete_streams_group_offsets(group, [second])

    assert admin.list_streams_group_offsets(group) == {first: OffsetAndMetadata(1)}
    admin.delete_streams_groups([group])
    with pytest.raises(GroupIdNotFoundError):
        admin.delete_streams_groups([group])


def test_a_streams_group_is_described(kafka: Kafka, admin: Admin, topic: str, group: str) -> None:
    asyncio.run(join_streams_group(kafka, topic, group))

    eventually(lambda: admin.describe_streams_groups([group])[group].members)
    described = admin.describe_streams_groups([group])[group]

    (subtopology,) = described.subtopologies
    (one,) = described.members
    assert (described.topology_epoch, subtopology.source_topics) == (1, (topic,))
    assert (one.client_id, one.process_id) == ("raw", "a process")
    assert one.assignment.standby_tasks == {}
    with pytest.raises(GroupIdNotFoundError):
        admin.describe_streams_groups([f"{group}-missing"])


async def join_streams_group(kafka: Kafka, topic: str, group: str) -> None:
    """Be a member of a streams group with one subtopology."""
    async with RawClient(kafka.bootstrap) as client:
        client.send(FindCoordinatorRequest(key_type=0, coordinator_keys=[group]))
        (coordinator,) = (await client.receive()).coordinators
    async with RawClient(f"{coordinator.host}:{coordinator.port}") as client:
        request = StreamsGroupHeartbeatRequest(
            group_id=group,
            member_id=str(uuid4()),
            rebalance_timeout_ms=60_000,
            topology=Topology(
                epoch=1, subtopologies=[Subtopology(subtopology_id="0", source_topics=[topic])]
            ),
            active_tasks=[],
            standby_tasks=[],
            warmup_tasks=[],
            process_id="a process",
            client_tags=[],
        )
        client.send(request, 0)
        assert (await client.receive()).error_code == 0


def test_the_asyncio_client_makes_the_same_calls(kafka: Kafka, topic: str, group: str) -> None:
    place = TopicPartition(topic, 0)

    async def main() -> None:
        async with AsyncAdmin(kafka.bootstrap) as admin:
            await admin.alter_streams_group_offsets(group, {place: 2})
            assert (await admin.list_consumer_group_offsets({group: [place]}))[group] == (
                await admin.list_streams_group_offsets(group)
            )
            assert (await admin.describe_classic_groups([group]))[group].is_simple
            assert group in {one.group_id for one in await admin.list_consumer_groups()}
            await admin.remove_members_from_consumer_group(group)

    asyncio.run(main())
