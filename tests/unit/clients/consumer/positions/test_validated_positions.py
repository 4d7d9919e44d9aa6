"""New leaders are asked whether they have the records that were read; logs may be truncated."""

from __future__ import annotations

import pytest

from pyk.clients.consumer.positions.assigned_partition import PositionState
from pyk.clients.consumer.positions.positions import FoundOffset
from pyk.clients.engine.metadata import MetadataImage, PartitionMetadata, TopicMetadata
from pyk.clients.errors import (
    LogTruncatedError,
    NotLeaderOrFollowerError,
)
from pyk.clients.offsets import OffsetSpec
from pyk.clients.topic_partition import OffsetAndMetadata
from support.positions import ENDS, Setting, assigned, known


def test_a_new_leader_is_asked_whether_it_has_the_records_that_were_read() -> None:
    setting, partition = known(epoch=3)

    setting.changes.leader_changed(partition, 4)
    assert partition.state is PositionState.VALIDATE
    setting.positions.found_epoch_end(partition, partition.version, 25, 4, 0.0)

    assert (partition.state, partition.leader_epoch, partition.buffer.position) == (
        PositionState.KNOWN,
        4,
        10,
    )


def test_no_leader_is_asked_when_the_epoch_of_the_position_is_unknown() -> None:
    setting, partition = known(epoch=3)
    partition.fetched_epoch = -1

    setting.changes.leader_changed(partition, 4)

    assert (partition.state, partition.leader_epoch) == (PositionState.KNOWN, 4)


def test_a_truncated_log_is_read_on_from_where_it_was_cut() -> None:
    setting, partition = known("earliest", offset=10)
    setting.changes.leader_changed(partition, 4)

    setting.positions.found_epoch_end(partition, partition.version, 7, 4, 0.0)

    assert (partition.state, partition.buffer.position) == (PositionState.KNOWN, 7)


def test_fetched_records_above_a_truncation_are_dropped() -> None:
    setting, partition = known("none", offset=10)
    partition.buffer.fetch_offset = 20
    setting.changes.leader_changed(partition, 4)

    setting.positions.found_epoch_end(partition, partition.version, 15, 4, 0.0)

    assert (partition.state, partition.buffer.position) == (PositionState.KNOWN, 10)
    assert partition.buffer.fetch_offset == 10


def test_without_a_policy_truncation_is_raised() -> None:
    setting, partition = known("none", offset=10)
    setting.changes.leader_changed(partition, 4)

    setting.positions.found_epoch_end(partition, partition.version, 7, 4, 0.0)

    assert partition.state is PositionState.FAILED
    assert isinstance(partition.buffer.error, LogTruncatedError)
    assert partition.buffer.error.offset == 7


def test_a_leader_that_is_too_old_to_be_asked_is_believed() -> None:
    setting, partition = known(offset=10)
    setting.changes.leader_changed(partition, 4)

    setting.positions.found_epoch_end(partition, partition.version, None, 4, 0.0)

    assert (partition.state, partition.leader_epoch, partition.buffer.position) == (
        PositionState.KNOWN,
        4,
        10,
    )


@pytest.mark.parametrize(("policy", "end"), ENDS)
def test_an_epoch_that_the_leader_does_not_have_is_reset_by_the_policy(
    policy: str, end: OffsetSpec
) -> None:
    setting, partition = known(policy, offset=10, epoch=3)
    setting.changes.leader_changed(partition, 4)

    setting.positions.found_epoch_end(partition, partition.version, -1, 4, 0.0)

    assert (partition.state, partition.end) == (PositionState.RESET, end)


def test_without_a_policy_an_epoch_that_the_leader_lacks_is_raised() -> None:
    setting, partition = known("none", offset=10, epoch=3)
    setting.changes.leader_changed(partition, 4)

    setting.positions.found_epoch_end(partition, partition.version, -1, 4, 0.0)

    assert partition.state is PositionState.FAILED
    assert isinstance(partition.buffer.error, LogTruncatedError)


def test_a_leader_in_an_older_epoch_than_was_read_is_asked_again_for_a_while() -> None:
    setting, partition = known("earliest", offset=10, epoch=3)
    partition.leader_epoch = -1
    setting.changes.leader_changed(partition, 2)
    tries = 0

    while partition.state is PositionState.VALIDATE:
        tries += 1
        setting.positions.found_epoch_end(partition, partition.version, -1, 2, 0.0)

    assert tries > 3
    assert partition.state is PositionState.RESET


def test_a_new_leader_does_not_pay_for_the_failures_of_the_old_one() -> None:
    setting, partition = known(epoch=3)
    for _ in range(5):
        setting.positions.failed(
            partition, partition.version, NotLeaderOrFollowerError("moved"), 0.0
        )
    setting.changes.apply(image_with_leader(2, epoch=3))

    setting.positions.failed(
        partition, partition.version, NotLeaderOrFollowerError("moved again"), 0.0
    )

    assert partition.retry_at == 0.1


def test_a_position_that_was_set_is_compared_with_metadata_that_has_not_changed() -> None:
    setting, partition = known(epoch=3)
    image = image_with_leader(2, epoch=4)
    setting.changes.apply(image)
    setting.positions.found_epoch_end(partition, partition.version, None, 4, 0.0)

    setting.positions.seek(partition, 5, 2)
    setting.changes.apply(image)

    assert partition.state is PositionState.VALIDATE


def test_a_partition_that_is_added_is_compared_with_metadata_that_has_not_changed() -> None:
    setting = Setting()
    image = image_with_leader(2, epoch=4)
    setting.changes.apply(image)

    partition = assigned(setting)
    setting.changes.apply(image)

    assert (partition.leader, partition.named_epoch) == (2, 4)


def image_with_leader(node_id: int, epoch: int) -> MetadataImage:
    topic = TopicMetadata("a", None, (PartitionMetadata(0, node_id, epoch),))
    return MetadataImage(version=1, topics={"a": topic})


def test_a_committed_epoch_is_validated_as_soon_as_the_leader_is_known() -> None:
    setting = Setting()
    partition = assigned(setting)

    setting.positions.found_committed(
        partition, partition.version, OffsetAndMetadata(10, "", 3), 0.0
    )
    setting.changes.leader_changed(partition, 3)

    assert partition.state is PositionState.VALIDATE


def test_an_offset_that_the_leader_named_is_not_validated_by_the_same_leader() -> None:
    setting = Setting()
    partition = assigned(setting, has_group=False)

    setting.positions.found_offset(
        partition, partition.version, FoundOffset(77, 2, leader_epoch=5), 0.0
    )
    setting.changes.leader_changed(partition, 5)

    assert partition.state is PositionState.KNOWN


def test_a_seek_to_the_present_position_in_another_epoch_is_validated() -> None:
    setting, partition = known(offset=10, epoch=3)

    setting.positions.seek(partition, 10, 2)
    setting.changes.leader_changed(partition, 3)

    assert partition.state is PositionState.VALIDATE
