"""The start offset of a share partition moves past everything that is done."""

from __future__ import annotations

from pyk.reference_broker.coordinator.share.state_batches import StateBatch
from pyk.reference_broker.share.acknowledgement import Acknowledgement, Acknowledger, acknowledge
from pyk.reference_broker.share.acquisition import AcquireRequest, acquire
from pyk.reference_broker.share.delivery import RecordState
from pyk.reference_broker.share.share_partition import Limits, SharePartition, StoredState

LIMITS = Limits()
BY_A = Acknowledger(member_id="a", now=1.0, limits=LIMITS)


def acquire_all(partition: SharePartition, *extents: tuple[int, int]) -> None:
    request = AcquireRequest(
        member_id="a",
        fetch_offset=partition.next_fetch_offset(),
        max_records=500,
        batch_size=500,
        locked_until=30.0,
    )
    acquire(partition, request, extents, LIMITS)


def accept(partition: SharePartition, first: int, last: int) -> None:
    changes = acknowledge(partition, BY_A, [Acknowledgement(first, last, (1,))])
    partition.settle(changes, is_stored=True, now=1.0, limits=LIMITS)


def test_a_gap_in_the_stored_state_holds_nothing_up_once_it_was_read() -> None:
    available = StateBatch(5, 9, 1, RecordState.AVAILABLE)
    partition = SharePartition(StoredState(1, 0, (available,)))
    acquire_all(partition, (0, 4), (5, 9))

    accept(partition, 0, 9)

    assert partition.start_offset == 10


def test_a_gap_that_was_read_holds_up_nothing_that_was_done_behind_it() -> None:
    done = StateBatch(5, 9, 1, RecordState.ACKNOWLEDGED)
    partition = SharePartition(StoredState(1, 0, (done,)))
    acquire_all(partition, (0, 4))

    accept(partition, 0, 4)

    assert partition.start_offset == 10


def test_a_gap_further_on_holds_the_start_offset_until_it_is_read() -> None:
    done = [StateBatch(first, first + 4, 1, RecordState.ACKNOWLEDGED) for first in (5, 15)]
    partition = SharePartition(StoredState(1, 0, tuple(done)))
    acquire_all(partition, (0, 4))
    accept(partition, 0, 4)
    assert partition.start_offset == 10

    acquire_all(partition, (10, 14))
    accept(partition, 10, 14)
    assert partition.start_offset == 20


def test_the_start_of_the_log_passes_what_is_done_behind_it() -> None:
    partition = SharePartition(StoredState(1, 0, ()))
    acquire_all(partition, (0, 9))
    accept(partition, 5, 9)
    assert partition.start_offset == 0

    partition.log_starts_at(5)

    assert partition.start_offset == 10
