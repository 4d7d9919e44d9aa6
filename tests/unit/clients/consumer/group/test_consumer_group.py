"""What a group does to the assignment of a consumer, and which events the application gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyk.clients import AsyncConsumer, OffsetAndMetadata, TopicPartition
from pyk.clients.consumer.group.actions import ApplicationEvent, Assign, Lose, Revoke
from pyk.clients.consumer.group.classic.member_state import MemberState
from pyk.clients.consumer.group.classic.membership import ClassicMembership
from pyk.clients.consumer.group.consumer_group import ConsumerGroup
from pyk.clients.errors import CommitFailedError, GroupAuthorizationFailedError, KafkaError
from pyk.clients.offsets import ConsumerGroupMetadata
from pyk.protocol.records import FetchedRecords
from pyk.runtime.virtual_time import virtual_time
from support.batches import batches

P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
BOTH = frozenset({P0, P1})


class Setting:
    """A consumer that is not started; the test says what happens in its group."""

    def __init__(self) -> None:
        consumer: AsyncConsumer[Any, Any] = AsyncConsumer(
            "127.0.0.1:1", group_id="g", enable_auto_commit=False
        )
        assert consumer._core.group is not None
        self.core = consumer._core
        self.group: ConsumerGroup = consumer._core.group
        self._buffer = consumer._core.buffer

    def assign(self, *partitions: TopicPartition) -> None:
        added = frozenset(partitions)
        self.group._handle(Assign(added, added | self.owned))

    def revoke(self, *partitions: TopicPartition) -> None:
        self.group._handle(Revoke(frozenset(partitions)))

    def lose(self, *partitions: TopicPartition) -> None:
        self.group._handle(Lose(frozenset(partitions)))

    def fail(self, error: KafkaError) -> ClassicMembership:
        """Let joining fail with an error that waits for the application."""
        membership = self.group.membership
        assert isinstance(membership, ClassicMembership)
        membership.state, membership.error = MemberState.FAILED, error
        return membership

    async def hear(self) -> ApplicationEvent:
        """Let the application handle the next event."""
        event = await self.group.begin_event(None)
        assert event is not None
        self.group.finish_event(event)
        return event

    def read(self, partition: TopicPartition, count: int) -> None:
        """Let the application take records of a partition, from offset 5 on."""
        assigned = self.core.partitions[partition]
        self.core.positions.seek(assigned, 5, -1)
        fetched = FetchedRecords(*partition, batches(5, count), 5)
        self.group._writer.append(assigned.buffer, fetched, 80, 5 + count)
        self.core.reader.take(count)
        self.core.reader.is_under_way = False

    @property
    def owned(self) -> frozenset[TopicPartition]:
        return frozenset(self._buffer.partitions)

    @property
    def readable(self) -> set[TopicPartition]:
        return {one for one, buffer in self._buffer.partitions.items() if not buffer.is_held}

    @property
    def wants_attention(self) -> bool:
        return bool(self._buffer.attention)

    def ends(self) -> list[tuple[type[ApplicationEvent], frozenset[TopicPartition]]]:
        """Return the events at the end, with their partitions."""
        events = self.group.events_at_the_end()
        assert not any(isinstance(event, Assign) for event in events)
        return [(type(event), event.partitions) for event in events]  # type: ignore[union-attr]


@virtual_time
async def test_partitions_are_read_once_the_application_knows_of_them() -> None:
    setting = Setting()
    setting.assign(P0, P1)
    assert (setting.owned, setting.readable) == (BOTH, set())

    await setting.hear()

    assert setting.readable == BOTH


@virtual_time
async def test_finishing_an_assignment_event_keeps_partitions_to_be_revoked_held() -> None:
    setting = Setting()
    setting.assign(P0, P1)
    setting.revoke(P1)

    await setting.hear()

    assert setting.readable == {P0}


@virtual_time
async def test_a_revoked_partition_is_kept_until_the_application_has_stopped_with_it() -> None:
    setting = Setting()
    setting.assign(P0, P1)
    await setting.hear()

    setting.revoke(P1)
    assert (setting.owned, setting.readable) == (BOTH, {P0})
    await setting.hear()

    assert setting.owned == {P0}


@virtual_time
async def test_a_lost_partition_is_gone_at_once_and_a_revocation_is_void() -> None:
    setting = Setting()
    setting.assign(P0, P1)
    await setting.hear()
    setting.revoke(P1)
    begun = await setting.group.begin_event(None)
    assert isinstance(begun, Revoke)

    setting.lose(P0, P1)
    assert setting.owned == frozenset()
    setting.group.finish_event(begun)

    assert isinstance(await setting.hear(), Lose)
    assert await setting.group.begin_event(None) is None


@virtual_time
async def test_a_transaction_cannot_have_records_of_a_partition_that_was_revoked() -> None:
    setting = Setting()
    setting.assign(P0)
    await setting.hear()
    setting.read(P0, 3)
    setting.group.losses.check_transaction()

    setting.revoke(P0)
    await setting.hear()

    with pytest.raises(CommitFailedError):
        setting.group.losses.check_transaction()


@virtual_time
async def test_a_loss_of_uncommitted_records_is_an_error_until_it_is_heard() -> None:
    setting = Setting()
    setting.assign(P0)
    await setting.hear()
    setting.read(P0, 3)

    setting.lose(P0)

    with pytest.raises(CommitFailedError):
        setting.group.losses.check_heard()
    await setting.hear()
    setting.group.losses.check_heard()


@virtual_time
async def test_what_was_committed_of_a_partition_is_not_believed_when_it_comes_back() -> None:
    setting = Setting()
    setting.assign(P0)
    await setting.hear()
    setting.read(P0, 3)
    version = setting.core.partitions[P0].version
    setting.group.progress.stored({P0: OffsetAndMetadata(8)}, {P0: version})
    setting.revoke(P0)
    await setting.hear()

    setting.assign(P0)
    await setting.hear()
    setting.read(P0, 1)

    assert setting.group.progress.uncommitted({P0}) == {P0: 6}


ENDS: list[tuple[str, Callable[[Setting], object], list[Any]]] = [
    ("an assignment is not heard", lambda setting: setting.assign(P1), [(Revoke, {P0})]),
    ("a revocation is not heard", lambda setting: setting.revoke(P0), [(Revoke, {P0})]),
    ("a loss is not heard", lambda setting: setting.lose(P0), [(Lose, {P0})]),
    (
        "neither an assignment nor its loss is heard",
        lambda setting: (setting.assign(P1), setting.lose(P1)),
        [(Revoke, {P0})],
    ),
    (
        "a loss is not heard of what was known in part",
        lambda setting: (setting.assign(P1), setting.lose(P0, P1)),
        [(Lose, {P0})],
    ),
]


@pytest.mark.parametrize(("happens", "ends"), [each[1:] for each in ENDS])
@virtual_time
async def test_the_last_event_is_about_the_partitions_that_the_application_knows(
    happens: Callable[[Setting], object], ends: list[Any]
) -> None:
    setting = Setting()
    setting.assign(P0)
    await setting.hear()

    happens(setting)

    assert setting.ends() == ends


@virtual_time
async def test_without_an_assignment_there_is_no_last_event() -> None:
    setting = Setting()
    assert setting.ends() == []

    setting.assign(P0)

    assert setting.ends() == []


@virtual_time
async def test_leaving_drops_all_partitions_and_events() -> None:
    setting = Setting()
    setting.assign(P0)
    await setting.hear()
    setting.revoke(P0)

    setting.group.leave("closed")

    assert setting.owned == frozenset()
    assert await setting.group.begin_event(None) is None


@virtual_time
async def test_an_error_is_raised_once_and_then_joining_is_tried_again() -> None:
    setting = Setting()
    membership = setting.fail(GroupAuthorizationFailedError("x"))

    with pytest.raises(GroupAuthorizationFailedError):
        await setting.group.begin_event(None)

    assert await setting.group.begin_event(None) is None
    assert membership.error is None
    setting.fail(GroupAuthorizationFailedError("y"))
    with pytest.raises(GroupAuthorizationFailedError, match="y"):
        await setting.group.begin_event(None)


@virtual_time
async def test_a_consumer_outside_of_its_group_commits_without_a_member() -> None:
    consumer: AsyncConsumer[Any, Any] = AsyncConsumer(
        "127.0.0.1:1", group_id="g", group_instance_id="till"
    )
    assert consumer._core.group is not None

    metadata = consumer._core.group.metadata

    assert metadata == ConsumerGroupMetadata("g", -1, "", "till")


@virtual_time
async def test_an_event_calls_for_the_attention_of_the_application() -> None:
    setting = Setting()
    assert not setting.wants_attention

    setting.assign(P0)

    assert setting.wants_attention


@virtual_time
async def test_a_fatal_error_is_raised_each_time() -> None:
    setting = Setting()
    error = GroupAuthorizationFailedError("x")
    error.fatal = True
    setting.fail(error)

    for _ in range(3):
        with pytest.raises(GroupAuthorizationFailedError):
            await setting.group.begin_event(None)


@virtual_time
async def test_the_error_that_keeps_a_member_out_is_its_problem() -> None:
    setting = Setting()
    assert setting.group.problem(0.0) is None

    error = GroupAuthorizationFailedError("x")
    setting.fail(error)

    assert setting.group.problem(0.0) is error


@virtual_time
async def test_offsets_are_committed_from_outside_of_the_group_but_not_while_joining() -> None:
    setting = Setting()
    assert setting.group.may_commit
    assert not setting.group.is_member

    setting.group.driver.subscribe({"orders"})

    assert not setting.group.may_commit
    assert setting.group.is_member
