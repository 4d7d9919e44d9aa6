"""Sabotage of pyk's own code: each function plants one defect in the broker or in the clients.

``patch`` replaces an attribute until the end of the test, as ``pytest.MonkeyPatch.setattr`` does.
Most defects are rare, so that everything else goes on and only the history shows them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from pyk.clients.consumer.faces.transaction_calls import TransactionCalls
from pyk.clients.producer.transactions.driver import TransactionDriver
from pyk.clients.topic_partition import OffsetAndMetadata
from pyk.reference_broker.coordinator.decision import Decision
from pyk.reference_broker.coordinator.group.offset_requests import OffsetRequests
from pyk.reference_broker.coordinator.group.pending_offsets import AppliedOffset, PendingOffsets
from pyk.reference_broker.coordinator.transaction import initializing
from pyk.reference_broker.coordinator.transaction.transaction import NO_EPOCH, Transaction
from pyk.reference_broker.partition import Partition
from pyk.reference_broker.partition_reader import Isolation, PartitionReader
from pyk.reference_broker.storage import AppendOrigin, LogAppendResult, producer_state
from pyk.reference_broker.storage.producer_entry import ProducerEntry

Patch = Callable[[Any, str, Any], None]


def each(number: int) -> Iterator[bool]:
    """Yield True each ``number``-th time."""
    return (count % number == 0 for count in itertools.count(1))


def _is_of_chain(partition: Partition) -> bool:
    return partition.topic_partition.topic.startswith("stage")


# -- the broker: markers and epochs ----------------------------------------------------------------


def skip_a_marker(patch: Patch) -> None:
    """Answer that a marker was written, and do not write it."""
    write, is_turn = Partition.end_transaction, each(12)

    def end_transaction(self: Partition, *args: Any, **options: Any) -> LogAppendResult:
        if _is_of_chain(self) and next(is_turn):
            end = self.log_end_offset
            return LogAppendResult(end, end, -1, self.log_start_offset)
        return write(self, *args, **options)

    patch(Partition, "end_transaction", end_transaction)


def commit_what_was_aborted(patch: Patch) -> None:
    """Write the marker of a commit for an abort."""
    write = Partition.end_transaction

    def end_transaction(
        self: Partition, producer_id: int, epoch: int, by: int, commit: bool, **options: Any
    ) -> LogAppendResult:
        return write(self, producer_id, epoch, by, commit or _is_of_chain(self), **options)

    patch(Partition, "end_transaction", end_transaction)


def abort_one_partition(patch: Patch) -> None:
    """Write the marker of an abort to one partition of a transaction that is committed."""
    write, is_turn = Partition.end_transaction, each(8)

    def end_transaction(
        self: Partition, producer_id: int, epoch: int, by: int, commit: bool, **options: Any
    ) -> LogAppendResult:
        if _is_of_chain(self):
            commit = commit and not next(is_turn)
        return write(self, producer_id, epoch, by, commit, **options)

    patch(Partition, "end_transaction", end_transaction)


def fence_nobody(patch: Patch) -> None:
    """Give a producer that takes over the epoch of the one before."""

    def fenced(self: Transaction, server_version: int, time_ms: int) -> Transaction:
        return self.prepared(commit=False, client_version=0, time_ms=time_ms)

    def next_epoch(transaction: Transaction, expected: int | None) -> tuple[int, int]:
        return transaction.producer_epoch, NO_EPOCH

    patch(Transaction, "fenced", fenced)
    patch(initializing, "_next_epoch", next_epoch)
    patch(producer_state, "_check_epoch", lambda entry, batch, partition: None)
    patch(producer_state, "_check_sequence", lambda entry, batch, partition: None)


# -- the broker: records ---------------------------------------------------------------------------


def append_retries_again(patch: Patch) -> None:
    """Append a batch that is there already."""
    patch(ProducerEntry, "find_duplicate", lambda self, batch: None)
    patch(producer_state, "_check_sequence", lambda entry, batch, partition: None)


def take_a_new_batch_for_a_retry(patch: Patch) -> None:
    """Answer a new batch with the offsets of the one before, as if its sequence were used twice."""
    find, is_turn = ProducerEntry.find_duplicate, each(20)

    def find_duplicate(self: ProducerEntry, batch: Any) -> Any:
        if self.batches and batch.producer_epoch == self.epoch and next(is_turn):
            return self.batches[-1]
        return find(self, batch)

    patch(ProducerEntry, "find_duplicate", find_duplicate)
    patch(producer_state, "_check_sequence", lambda entry, batch, partition: None)


def answer_without_the_append(patch: Patch) -> None:
    """Answer that a batch was appended, and drop it."""
    append, is_turn = Partition.append, each(25)

    def drop(self: Partition, records: Any, **options: Any) -> LogAppendResult:
        is_client = options.get("origin", AppendOrigin.CLIENT) is AppendOrigin.CLIENT
        if is_client and _is_of_chain(self) and next(is_turn):
            end = self.log_end_offset
            return LogAppendResult(end, end, -1, self.log_start_offset)
        return append(self, records, **options)

    patch(Partition, "append", drop)
    patch(producer_state, "_check_sequence", lambda entry, batch, partition: None)


def answer_with_another_offset(patch: Patch) -> None:
    """Answer an append with the offset after the one that it got."""
    append, is_turn = Partition.append, each(10)

    def append_elsewhere(self: Partition, records: Any, **options: Any) -> LogAppendResult:
        result = append(self, records, **options)
        is_client = options.get("origin", AppendOrigin.CLIENT) is AppendOrigin.CLIENT
        if is_client and _is_of_chain(self) and next(is_turn):
            first, last = result.base_offset + 1, result.last_offset + 1
            return LogAppendResult(first, last, -1, self.log_start_offset)
        return result

    patch(Partition, "append", append_elsewhere)


def read_past_the_stable_offset(patch: Patch) -> None:
    """Give readers of committed records what open transactions have written."""
    end_offset = PartitionReader.end_offset

    def past_the_end(self: PartitionReader, isolation: Isolation) -> int:
        if isolation is Isolation.READ_COMMITTED:
            isolation = Isolation.READ_UNCOMMITTED
        return end_offset(self, isolation)

    patch(PartitionReader, "end_offset", past_the_end)


def name_no_aborted_transactions(patch: Patch) -> None:
    """Give readers of committed records no list of what was aborted."""
    patch(PartitionReader, "aborted_transactions", lambda self, offset, records: [])


# -- the broker: offsets of transactions -----------------------------------------------------------


def apply_aborted_offsets(patch: Patch) -> None:
    """Commit the offsets of a transaction although it was aborted."""
    end = PendingOffsets.end

    def end_committed(
        self: PendingOffsets, producer_id: int, *, is_commit: bool
    ) -> list[AppliedOffset]:
        return end(self, producer_id, is_commit=True)

    patch(PendingOffsets, "end", end_committed)


def forget_committed_offsets(patch: Patch) -> None:
    """Drop the offsets of a transaction although it was committed."""
    end, is_turn = PendingOffsets.end, each(4)

    def end_aborted(
        self: PendingOffsets, producer_id: int, *, is_commit: bool
    ) -> list[AppliedOffset]:
        return end(self, producer_id, is_commit=is_commit and not next(is_turn))

    patch(PendingOffsets, "end", end_aborted)


# -- the clients -----------------------------------------------------------------------------------


def commit_offsets_ahead(patch: Patch) -> None:
    """Commit the offset after the next one."""
    send_offsets = TransactionDriver.send_offsets

    async def ahead(self: TransactionDriver, offsets: Any, *args: Any, **options: Any) -> None:
        later = {
            partition: OffsetAndMetadata(one.offset + 1, one.metadata, one.leader_epoch)
            for partition, one in offsets.items()
        }
        await send_offsets(self, later, *args, **options)

    patch(TransactionDriver, "send_offsets", ahead)


def commit_offsets_outside(patch: Patch) -> None:
    """Commit the offsets of a transaction at once, whatever becomes of it."""
    commit = OffsetRequests.commit_in_transaction

    def commit_at_once(self: OffsetRequests, *args: Any) -> Any:
        results, decision = commit(self, *args)
        return results, Decision(decision.records)

    patch(OffsetRequests, "commit_in_transaction", commit_at_once)


def leave_offsets_out(patch: Patch) -> None:
    """Commit a transaction without the offsets that the application gave to it."""

    async def nothing(
        self: TransactionDriver, *args: Any, on_taken: Callable[[], object] = lambda: None
    ) -> None:
        on_taken()

    patch(TransactionDriver, "send_offsets", nothing)


def forget_to_go_back(patch: Patch) -> None:
    """Let a consumer read on after a block that was aborted."""
    patch(TransactionCalls, "return_to", lambda self, mark: None)


FOUND_AS: dict[Callable[[Patch], None], set[str]] = {
    skip_a_marker: {"lost", "torn"},
    commit_what_was_aborted: {"G1a aborted read"},
    abort_one_partition: {"lost", "torn"},
    fence_nobody: {"G0 dirty write", "torn"},
    append_retries_again: {"duplicated"},
    take_a_new_batch_for_a_retry: {"shared offset"},
    answer_without_the_append: {"lost", "shared offset"},
    answer_with_another_offset: {"duplicated"},
    read_past_the_stable_offset: {"G1b intermediate read", "unstable read"},
    name_no_aborted_transactions: {"G1a aborted read"},
    apply_aborted_offsets: {"stale commit"},
    forget_committed_offsets: {"duplicated", "stale commit"},
    commit_offsets_ahead: {"stale commit"},
    commit_offsets_outside: {"stale commit"},
    leave_offsets_out: {"duplicated", "stale commit"},
    forget_to_go_back: {"stale commit"},
}
"""What shows each sabotage: one of these at least."""
