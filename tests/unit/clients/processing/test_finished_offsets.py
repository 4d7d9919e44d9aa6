"""Which offsets commits say that handlers have finished, and what is taken from an owner before."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyk.clients import OffsetAndMetadata, TopicPartition
from pyk.clients.consumer import ConsumerRecord
from pyk.clients.consumer.records.assignment import Assignment
from pyk.clients.processing.finished_offsets import FinishedOffsets
from pyk.clients.processing.gaps import encode_finished
from pyk.clients.processing.pauses import Pauses
from support.guarded_jobs import GuardedJobs

ORDERS = TopicPartition("orders", 0)
DAMAGED, FOREIGN = "pyk1:%", "ts=1700000000"


class Member:
    """A member with one partition, which has read up to ``position``; ``committed`` is where it
    began."""

    def __init__(
        self,
        *,
        position: int = 10,
        epoch: int = 5,
        noted_end: int = -1,
        committed: OffsetAndMetadata | None = None,
        has_group: bool = True,
    ) -> None:
        self.assignment = Assignment(ORDERS)
        buffer = SimpleNamespace(
            assignment=self.assignment, position=position, position_epoch=epoch
        )
        self.partitions = {
            ORDERS: SimpleNamespace(buffer=buffer, noted_end=noted_end, topic_partition=ORDERS)
        }
        progress = SimpleNamespace(begun_with=lambda assigned: committed)
        group = SimpleNamespace(progress=progress) if has_group else None
        core = cast(Any, SimpleNamespace(is_closed=False, partitions=self.partitions, group=group))
        self.jobs = GuardedJobs()
        lock = self.jobs.lock
        pauses = Pauses(core, self.jobs, lock)
        self.offsets = FinishedOffsets(core, self.jobs, lock, pauses, commits_by_itself=True)

    def handle(self, count: int, finished: list[int]) -> None:
        """Take so many records, and finish those of some offsets."""
        partition = self.jobs.begin(self.assignment)
        self.jobs.add(partition, [ConsumerRecord("orders", 0, n) for n in range(count)])
        while (job := self.jobs.next()) is not None:
            if job.offset in finished:
                self.jobs.finish(job)

    def restart(self) -> OffsetAndMetadata | None:
        return self.offsets.restart_at(self.assignment)

    def done(self) -> frozenset[int]:
        return self.offsets.done_before(self.assignment)


def test_a_restart_begins_at_the_first_unfinished_offset_and_knows_those_behind_it():
    member = Member()
    member.handle(10, [0, 1, 3, 4, 8])

    assert member.restart() == OffsetAndMetadata(2, encode_finished(2, [3, 4, 8]), 5)


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        (9, OffsetAndMetadata(2, encode_finished(2, [3, 4, 8]), 5)),
        (8, OffsetAndMetadata(2, encode_finished(2, [3, 4]), 5)),
        (4, OffsetAndMetadata(2, encode_finished(2, [3]), 5)),
        (3, OffsetAndMetadata(2, "", 5)),
        (2, None),
        (0, None),
    ],
)
def test_a_restart_knows_nothing_from_the_position_on(position, expected):
    member = Member(position=position)
    member.handle(10, [0, 1, 3, 4, 8])

    assert member.restart() == expected


def test_a_restart_of_what_is_finished_begins_at_the_position():
    member = Member()
    assert member.restart() is None

    member.handle(10, [*range(10)])

    assert member.restart() is None


def test_a_partition_that_went_away_has_no_restart_and_nothing_that_is_done():
    note = OffsetAndMetadata(2, encode_finished(2, [4]))
    member = Member(committed=note)
    member.handle(10, [3])
    member.partitions.clear()

    assert member.restart() is None
    assert member.done() == frozenset()


@pytest.mark.parametrize(("epoch", "told"), [(-1, None), (0, 0), (7, 7)])
def test_a_restart_has_the_leader_epoch_up_to_which_was_read(epoch, told):
    member = Member(epoch=epoch)
    member.handle(3, [])

    assert member.restart() == OffsetAndMetadata(0, "", told)


def test_notes_get_shorter_until_there_are_none():
    member = Member(position=4_000)
    member.handle(4_000, [*range(1, 4_000, 2)])
    lengths = []
    while (restart := member.restart()) is not None and restart.metadata:
        lengths.append(len(restart.metadata))
        assert member.offsets.shorten_notes()

    assert lengths == sorted(set(lengths), reverse=True)
    assert not member.offsets.shorten_notes()


@pytest.mark.parametrize(
    ("noted_end", "expected"), [(-1, {4, 5, 8}), (9, {4, 5, 8}), (8, {4, 5}), (5, {4}), (0, set())]
)
def test_what_an_owner_before_has_finished_counts_up_to_where_its_log_goes(noted_end, expected):
    note = OffsetAndMetadata(2, encode_finished(2, [4, 5, 8]))

    assert Member(committed=note, noted_end=noted_end).done() == expected


@pytest.mark.parametrize(
    "member",
    [
        Member(),
        Member(committed=OffsetAndMetadata(2, encode_finished(2, [4])), has_group=False),
        Member(committed=OffsetAndMetadata(2, "")),
    ],
    ids=["not begun there", "no group", "no note"],
)
def test_nothing_is_done_where_no_note_says_so(member, caplog):
    caplog.set_level(logging.INFO)

    assert member.done() == frozenset()
    assert not caplog.messages


@pytest.mark.parametrize(
    ("note", "level", "words"),
    [(DAMAGED, "WARNING", "is damaged"), (FOREIGN, "INFO", "was not written by process()")],
)
def test_a_note_that_cannot_be_read_is_logged_and_its_records_are_handled(
    note, level, words, caplog
):
    caplog.set_level(logging.INFO)

    assert Member(committed=OffsetAndMetadata(2, note)).done() == frozenset()

    (line,) = caplog.records
    assert line.levelname == level
    assert line.getMessage() == (
        f"The metadata of the committed offset 2 of orders-0 {words}: all records from there are "
        "handled"
    )
