from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from pyk.clients.consumer.buffer.fetch_buffer import FetchBuffer
from pyk.clients.consumer.positions.place import Place, PlaceState
from pyk.clients.consumer.positions.positions import FoundOffset, Positions
from pyk.clients.engine.backoff import Backoff
from pyk.clients.engine.metadata import MetadataImage, PartitionMetadata, TopicMetadata
from pyk.clients.errors import (
    LogTruncatedError,
    NoOffsetForPartitionError,
    NotLeaderOrFollowerError,
    OffsetOutOfRangeError,
    TopicRecreatedError,
)
from pyk.clients.offsets import OffsetSpec
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
ENDS = [("earliest", OffsetSpec.EARLIEST), ("latest", OffsetSpec.LATEST)]


def make_positions(policy: str = "latest") -> Positions:
    buffer = FetchBuffer(lambda: None, lambda: None, lambda fetch: fetch())
    return Positions(buffer, policy, Backoff(0.1, 1.0), lambda: 0.5)


def assigned(positions: Positions, *, has_group: bool = True) -> Place:
    (place,) = positions.assign([A0], 0.0, has_group=has_group)
    return place


def known(policy: str = "latest", offset: int = 10, epoch: int = 3) -> tuple[Positions, Place]:
    positions = make_positions(policy)
    place = assigned(positions)
    committed = OffsetAndMetadata(offset, "", epoch)
    positions.found_committed(place, place.version, committed, 0.0)
    place.leader_epoch = epoch
    return positions, place


def test_places_may_change_while_another_thread_looks_at_them() -> None:
    positions = make_positions()
    positions.assign([A0, A1], 0.0, has_group=False)
    places = iter(positions)

    positions.unassign([A0])

    assert [place.topic_partition for place in places] == [A0, A1]


def test_a_member_goes_on_where_its_group_stopped() -> None:
    _, place = known(offset=10)

    assert place.state is PlaceState.KNOWN
    assert place.buffer.position == place.buffer.fetch_offset == place.buffer.finished == 10


@pytest.mark.parametrize(("policy", "end"), ENDS)
def test_where_nothing_is_committed_the_policy_decides(policy: str, end: OffsetSpec) -> None:
    positions = make_positions(policy)
    place = assigned(positions)

    positions.found_committed(place, place.version, None, 0.0)

    assert (place.state, place.end) == (PlaceState.RESET, end)
    positions.found_offset(place, place.version, FoundOffset(77, 5), 0.0)
    assert (place.state, place.buffer.position) == (PlaceState.KNOWN, 77)


def test_without_a_policy_the_application_hears_that_nothing_is_committed() -> None:
    positions = make_positions("none")
    place = assigned(positions)

    positions.found_committed(place, place.version, None, 0.0)

    assert place.state is PlaceState.FAILED
    assert isinstance(place.buffer.error, NoOffsetForPartitionError)


def test_without_a_group_the_policy_decides_at_once() -> None:
    positions = make_positions("earliest")

    place = assigned(positions, has_group=False)

    assert (place.state, place.end) == (PlaceState.RESET, OffsetSpec.EARLIEST)


def test_an_answer_that_comes_after_a_seek_changes_nothing() -> None:
    positions = make_positions()
    place = assigned(positions)
    version = place.version

    positions.seek(place, 5, -1)
    positions.found_committed(place, version, OffsetAndMetadata(99), 0.0)
    positions.found_offset(place, version, FoundOffset(98, 0), 0.0)

    assert place.buffer.position == 5


def test_an_answer_for_an_earlier_assignment_changes_nothing() -> None:
    positions = make_positions()
    before = assigned(positions)
    positions.unassign([A0])
    after = assigned(positions)

    positions.found_committed(before, before.version, OffsetAndMetadata(99), 0.0)

    assert after.state is PlaceState.COMMITTED
    assert not positions.is_assigned(before)


@pytest.mark.parametrize(("policy", "end"), ENDS)
def test_an_offset_out_of_range_is_reset_by_the_policy(policy: str, end: OffsetSpec) -> None:
    positions, place = known(policy)

    positions.out_of_range(place, 1.0)

    assert (place.state, place.end) == (PlaceState.RESET, end)
    assert place.buffer.finished == -1


def test_without_a_policy_an_offset_out_of_range_is_told_and_kept() -> None:
    positions, place = known("none", offset=10)

    positions.out_of_range(place, 1.0)

    error = place.buffer.error
    assert isinstance(error, OffsetOutOfRangeError)
    assert (error.topic_partition, error.offset) == (A0, 10)
    assert (place.state, place.buffer.position) == (PlaceState.FAILED, 10)
    positions.seek(place, 11, -1)
    assert (place.state, place.buffer.error) == (PlaceState.KNOWN, None)


def test_a_new_leader_is_asked_whether_it_has_what_was_read() -> None:
    positions, place = known(epoch=3)

    positions.leader_changed(place, 4)
    assert place.state is PlaceState.VALIDATE
    positions.found_epoch_end(place, place.version, 25, 4, 0.0)

    assert (place.state, place.leader_epoch, place.buffer.position) == (PlaceState.KNOWN, 4, 10)


def test_nothing_is_asked_when_the_epoch_of_what_was_read_is_not_known() -> None:
    positions, place = known(epoch=3)
    place.fetched_epoch = -1

    positions.leader_changed(place, 4)

    assert (place.state, place.leader_epoch) == (PlaceState.KNOWN, 4)


def test_a_truncated_log_is_read_on_from_where_it_was_cut() -> None:
    positions, place = known("earliest", offset=10)
    positions.leader_changed(place, 4)

    positions.found_epoch_end(place, place.version, 7, 4, 0.0)

    assert (place.state, place.buffer.position) == (PlaceState.KNOWN, 7)


def test_what_was_fetched_but_not_read_is_dropped_when_it_was_cut_off() -> None:
    positions, place = known("none", offset=10)
    place.buffer.fetch_offset = 20
    positions.leader_changed(place, 4)

    positions.found_epoch_end(place, place.version, 15, 4, 0.0)

    assert (place.state, place.buffer.position) == (PlaceState.KNOWN, 10)
    assert place.buffer.fetch_offset == 10


def test_without_a_policy_the_application_hears_of_truncation() -> None:
    positions, place = known("none", offset=10)
    positions.leader_changed(place, 4)

    positions.found_epoch_end(place, place.version, 7, 4, 0.0)

    assert place.state is PlaceState.FAILED
    assert isinstance(place.buffer.error, LogTruncatedError)
    assert place.buffer.error.offset == 7


def test_a_leader_that_is_too_old_to_be_asked_is_believed() -> None:
    positions, place = known(offset=10)
    positions.leader_changed(place, 4)

    positions.cannot_validate(place, place.version, 4, 0.0)

    assert (place.state, place.leader_epoch, place.buffer.position) == (PlaceState.KNOWN, 4, 10)


@pytest.mark.parametrize(("policy", "end"), ENDS)
def test_an_epoch_that_the_leader_does_not_have_is_reset_by_the_policy(
    policy: str, end: OffsetSpec
) -> None:
    positions, place = known(policy, offset=10, epoch=3)
    positions.leader_changed(place, 4)

    positions.found_epoch_end(place, place.version, -1, 4, 0.0)

    assert (place.state, place.end) == (PlaceState.RESET, end)


def test_without_a_policy_the_application_hears_of_an_epoch_that_the_leader_does_not_have() -> None:
    positions, place = known("none", offset=10, epoch=3)
    positions.leader_changed(place, 4)

    positions.found_epoch_end(place, place.version, -1, 4, 0.0)

    assert place.state is PlaceState.FAILED
    assert isinstance(place.buffer.error, LogTruncatedError)


def test_a_leader_in_an_older_epoch_than_was_read_is_asked_again_for_a_while() -> None:
    positions, place = known("earliest", offset=10, epoch=3)
    place.leader_epoch = -1
    positions.leader_changed(place, 2)
    tries = 0

    while place.state is PlaceState.VALIDATE:
        tries += 1
        positions.found_epoch_end(place, place.version, -1, 2, 0.0)

    assert tries > 3
    assert place.state is PlaceState.RESET


def test_a_new_leader_does_not_pay_for_the_failures_of_the_old_one() -> None:
    positions, place = known(epoch=3)
    for _ in range(5):
        positions.failed(place, place.version, NotLeaderOrFollowerError("moved"), 0.0)
    positions.follow(image_with_leader(2, epoch=3))

    positions.failed(place, place.version, NotLeaderOrFollowerError("moved again"), 0.0)

    assert place.retry_at == 0.1


def image_with_leader(node_id: int, epoch: int) -> MetadataImage:
    topic = TopicMetadata("a", None, (PartitionMetadata(0, node_id, epoch),))
    return MetadataImage(version=1, topics={"a": topic})


def test_a_committed_epoch_is_validated_as_soon_as_the_leader_is_known() -> None:
    positions = make_positions()
    place = assigned(positions)

    positions.found_committed(place, place.version, OffsetAndMetadata(10, "", 3), 0.0)
    positions.leader_changed(place, 3)

    assert place.state is PlaceState.VALIDATE


def test_an_offset_that_the_leader_named_is_not_validated_by_the_same_leader() -> None:
    positions = make_positions()
    place = assigned(positions, has_group=False)

    positions.found_offset(place, place.version, FoundOffset(77, 2, leader_epoch=5), 0.0)
    positions.leader_changed(place, 5)

    assert place.state is PlaceState.KNOWN


def test_a_seek_to_the_present_position_in_another_epoch_is_validated() -> None:
    positions, place = known(offset=10, epoch=3)

    positions.seek(place, 10, 2)
    positions.leader_changed(place, 3)

    assert place.state is PlaceState.VALIDATE


def test_failures_are_tried_again_ever_later() -> None:
    positions, place = known()
    waits = []

    for _ in range(6):
        positions.failed(place, place.version, NotLeaderOrFollowerError("moved"), 100.0)
        waits.append(round(place.retry_at - 100.0, 3))

    assert waits == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    assert place.failing_since == 100.0
    place.succeeded(101.0)
    assert place.failures == 0
    assert place.error is None


def test_only_places_that_are_due_are_asked_for() -> None:
    positions = make_positions()
    first, second = positions.assign([A0, A1], 0.0, has_group=True)
    positions.failed(first, first.version, NotLeaderOrFollowerError("moved"), 0.0)

    assert positions.in_state(PlaceState.COMMITTED, 0.0) == [second]
    assert positions.next_retry(0.0) == first.retry_at
    assert positions.in_state(PlaceState.COMMITTED, 0.2) == [first, second]


def test_a_seek_to_the_present_position_keeps_what_is_fetched() -> None:
    positions, place = known(offset=10)
    version = place.version

    positions.seek(place, 10, -1)

    assert place.version == version


def test_a_seek_to_an_unreadable_batch_fetches_it_anew() -> None:
    positions, place = known(offset=10)
    place.buffer.is_unreadable = True
    version = place.version

    positions.seek(place, 10, -1)

    assert place.version > version


def test_a_nearer_replica_is_preferred_for_a_while() -> None:
    _, place = known()

    place.leader = 1

    place.prefer(7, until=50.0)

    assert place.node_to_fetch(49.0) == 7
    assert place.node_to_fetch(50.0) == 1


def test_assigning_again_keeps_the_places_that_are_there() -> None:
    positions, place = known(offset=10)

    added = positions.assign([A0, A1], 0.0, has_group=True)

    assert [one.topic_partition for one in added] == [A1]
    assert place.buffer.position == 10


@pytest.mark.parametrize("policy", ["earliest", "latest"])
def test_a_topic_that_was_created_again_is_read_from_its_beginning(policy: str) -> None:
    positions, place = known(policy, offset=10)
    positions.topic_seen(place, UUID(int=1))
    assert place.state is PlaceState.KNOWN

    positions.topic_seen(place, UUID(int=2))

    assert (place.state, place.end) == (PlaceState.RESET, OffsetSpec.EARLIEST)
    assert place.buffer.finished == -1


def test_without_a_policy_the_application_hears_that_a_topic_was_created_again() -> None:
    positions, place = known("none", offset=10)
    positions.topic_seen(place, UUID(int=1))

    positions.topic_seen(place, UUID(int=2))

    assert place.state is PlaceState.FAILED
    assert isinstance(place.buffer.error, TopicRecreatedError)
    assert place.buffer.error.offset == 10


def seek(positions: Positions, place: Place) -> None:
    positions.seek(place, 5, -1)


def seek_to_end(positions: Positions, place: Place) -> None:
    positions.seek_to(place, OffsetSpec.LATEST)
    positions.found_offset(place, place.version, FoundOffset(5), 0.0)


@pytest.mark.parametrize("go", [seek, seek_to_end])
def test_a_seek_outlives_the_end_of_a_false_topic_id(
    go: Callable[[Positions, Place], None],
) -> None:
    positions, place = known(offset=10)
    positions.topic_seen(place, UUID(int=1))
    positions.topic_seen(place, UUID(int=2))

    go(positions, place)
    positions.topic_seen(place, UUID(int=1))

    assert place.buffer.position != 10


def test_a_topic_is_read_on_once_it_has_its_former_id_again() -> None:
    positions, place = known(offset=10)
    for number in (1, 2, 1):
        positions.topic_seen(place, UUID(int=number))

    assert (place.state, place.buffer.position) == (PlaceState.KNOWN, 10)


def test_partitions_that_were_unassigned_are_not_read_on_when_they_are_assigned_again() -> None:
    positions, place = known(offset=10)
    positions.set_aside([A0])
    positions.unassign([A0])

    place = assigned(positions, has_group=False)

    assert place.state is PlaceState.RESET


def test_a_partition_that_was_never_read_is_new_where_others_of_its_topic_are_set_aside() -> None:
    positions, _ = known(offset=10)
    positions.set_aside([A0])

    (_, added) = positions.assign([A0, A1], 0.0, has_group=False, has_grown=True)

    assert (added.state, added.end) == (PlaceState.RESET, OffsetSpec.EARLIEST)
