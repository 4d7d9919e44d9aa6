"""Each class of anomalies: a history that shows it, and one beside it that is sound."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pykcheck import ANOMALIES
from support.stories import Story

Write = Callable[[], Story]


def lost_behind_a_later_read() -> Story:
    return Story().send("p", "a", "t-0@0").send("p", "b", "t-0@1").poll("r", "b=t-0@1")


def lost_beyond_the_end() -> Story:
    story = Story().send("p", "a", "t-0@0").send("p", "b", "t-0@1")
    return story.poll("r", "a=t-0@0").end_offsets({"t-0": 1})


def lost_at_an_unknown_offset() -> Story:
    story = Story().send("p", "a", "t-0").send("p", "b", "t-0@0")
    return story.poll("r", "b=t-0@0").end_offsets({"t-0": 1})


def lost_with_its_whole_transaction() -> Story:
    story = Story().begin("p", "x").send("p", "a", "t-0@0", transaction="x").commit("p", "x")
    return story.poll("r", positions={"t-0": 2})


def nothing_lost_in_what_is_not_read_yet() -> Story:
    return Story().send("p", "a", "t-0@0").send("p", "b", "t-0@1").poll("r", "a=t-0@0")


def nothing_lost_where_the_outcome_is_unknown() -> Story:
    story = Story().send("p", "a", "t-0", outcome="unknown").send("p", "b", "t-0@0")
    return story.poll("r", "b=t-0@0").end_offsets({"t-0": 1})


def torn_across_partitions() -> Story:
    story = Story().begin("p", "x")
    story.send("p", "a", "t-0@0", transaction="x").send("p", "b", "t-1@0", transaction="x")
    return story.commit("p", "x").poll("r", "a=t-0@0", positions={"t-0": 2, "t-1": 2})


def torn_with_an_unknown_outcome() -> Story:
    story = Story().begin("p", "x")
    story.send("p", "a", "t-0@0", transaction="x").send("p", "b", "t-1@0", transaction="x")
    story.commit("p", "x", outcome="unknown")
    return story.poll("r", "a=t-0@0", positions={"t-0": 2, "t-1": 2})


def whole_with_an_unknown_outcome() -> Story:
    story = Story().begin("p", "x")
    story.send("p", "a", "t-0@0", transaction="x").send("p", "b", "t-1@0", transaction="x")
    story.commit("p", "x", outcome="unknown")
    return story.poll("r", "a=t-0@0", "b=t-1@0", positions={"t-0": 2, "t-1": 2})


def invisible_with_an_unknown_outcome() -> Story:
    story = Story().begin("p", "x").send("p", "a", "t-0@0", transaction="x")
    return story.commit("p", "x", outcome="unknown").poll("r", positions={"t-0": 2})


def half_a_transaction_read_so_far() -> Story:
    story = Story().begin("p", "x")
    story.send("p", "a", "t-0@0", transaction="x").send("p", "b", "t-1@0", transaction="x")
    return story.commit("p", "x").poll("r", "a=t-0@0")


def duplicated_by_a_retry() -> Story:
    return Story().send("p", "a", "t-0@0").poll("r", "a=t-0@0", "a=t-0@1")


def duplicated_elsewhere_than_acknowledged() -> Story:
    return Story().send("p", "a", "t-0@7").poll("r", "a=t-0@8")


def made_twice_from_one_source() -> Story:
    story = Story().send("p", "a1", "t-0@0", source="a").send("q", "a2", "t-0@1", source="a")
    return story.poll("r", "a1=t-0@0", "a2=t-0@1")


def made_again_after_an_abort() -> Story:
    story = Story().begin("p", "x").send("p", "a1", "t-0@0", transaction="x", source="a")
    story.abort("p", "x").begin("p", "y").send("p", "a2", "t-0@2", transaction="y", source="a")
    return story.commit("p", "y").poll("r", "a2=t-0@2")


def consumed_in(*transactions: str, aborted: str = "") -> Story:
    story = Story().send("p", "a", "t-0@0")
    for name in transactions:
        story.begin("q", name, name).assign("q", "t-0")
        story.poll("q", "a=t-0@0", group="g", transaction=name)
        story.commit_offsets("q", {"t-0": 1}, transaction=name)
        (story.abort if name == aborted else story.commit)("q", name)
    return story


def consumed_in_two_transactions() -> Story:
    return consumed_in("x", "y")


def consumed_again_after_an_abort() -> Story:
    return consumed_in("x", "y", aborted="x")


def read_by_two_readers() -> Story:
    return Story().send("p", "a", "t-0@0").poll("r", "a=t-0@0").poll("s", "a=t-0@0")


def reordered_by_a_retry() -> Story:
    story = Story()
    first = story.start("p", "send", value="a", partition="t-0")
    second = story.start("p", "send", value="b", partition="t-0")
    story.end(second, offset=0).end(first, offset=1)
    return story


def pipelined_in_order() -> Story:
    story = Story()
    first = story.start("p", "send", value="a", partition="t-0")
    second = story.start("p", "send", value="b", partition="t-0")
    story.end(second, offset=1).end(first, offset=0)
    return story


def behind_what_was_sent_later() -> Story:
    return Story().send("p", "a", "t-0@1").send("q", "b", "t-0@0")


def either_order_of_concurrent_sends() -> Story:
    story = Story()
    first = story.start("p", "send", value="a", partition="t-0")
    second = story.start("q", "send", value="b", partition="t-0")
    story.end(first, offset=1).end(second, offset=0)
    return story


def two_values_at_one_offset() -> Story:
    return Story().send("p", "a", "t-0@0").send("q", "b", "t-0@0")


def readers_that_disagree() -> Story:
    story = Story().send("p", "a", "t-0", outcome="unknown")
    story.send("q", "b", "t-0", outcome="unknown")
    return story.poll("r", "a=t-0@0").poll("s", "b=t-0@0")


def the_same_offset_of_two_partitions() -> Story:
    return Story().send("p", "a", "t-0@0").send("q", "b", "t-1@0")


def a_value_out_of_nothing() -> Story:
    return Story().poll("r", "a=t-0@0")


def a_value_in_another_partition() -> Story:
    return Story().send("p", "a", "t-0", outcome="unknown").poll("r", "a=t-1@0")


def a_value_that_nobody_confirmed() -> Story:
    return Story().send("p", "a", "t-0", outcome="unknown").poll("r", "a=t-0@0")


def a_late_write_of_a_fenced_producer() -> Story:
    story = Story().init("p").begin("p", "x").send("p", "a", "t-0@0", transaction="x")
    late = story.start("p", "send", value="b", partition="t-0", transaction="x")
    story.init("q").begin("q", "y").send("q", "c", "t-0@2", transaction="y")
    return story.end(late, offset=3).commit("q", "y")


def producers_that_interleave() -> Story:
    story = Story().begin("p", "x", "one").begin("q", "y", "two")
    story.send("p", "a", "t-0@0", transaction="x").send("q", "b", "t-0@1", transaction="y")
    story.send("p", "c", "t-0@2", transaction="x").commit("p", "x").commit("q", "y")
    return story.poll("r", "a=t-0@0", "b=t-0@1", "c=t-0@2")


def an_aborted_read(isolation: str = "read_committed") -> Story:
    story = Story().begin("p", "x").send("p", "a", "t-0@0", transaction="x").abort("p", "x")
    return story.poll("r", "a=t-0@0", isolation=isolation)


def an_aborted_read_that_is_uncommitted() -> Story:
    return an_aborted_read("read_uncommitted")


def a_read_of_what_crashed() -> Story:
    story = Story().begin("p", "x").send("p", "a", "t-0@0", transaction="x")
    story.start("p", "crash")
    return story.poll("r", "a=t-0@0")


def a_commit_after_which_the_producer_was_told_of_an_abort() -> Story:
    story = Story().begin("p", "x").send("p", "a", "t-0@0", transaction="x")
    story.commit("p", "x", outcome="unknown").abort("p", "x")
    return story.poll("r", "a=t-0@0")


def a_read_of_a_refused_send() -> Story:
    story = Story().send("p", "a", "t-0", outcome="failed")
    return story.poll("r", "a=t-0@0", isolation="read_uncommitted")


def a_commit_refused() -> Story:
    story = Story().begin("p", "x").send("p", "a", "t-0@0", transaction="x")
    return story.commit("p", "x", outcome="failed").poll("r", "a=t-0@0")


def a_read_before_the_commit() -> Story:
    story = Story().begin("p", "x").send("p", "a", "t-0@0", transaction="x")
    return story.poll("r", "a=t-0@0").commit("p", "x")


def a_read_during_the_commit() -> Story:
    story = Story().begin("p", "x").send("p", "a", "t-0@0", transaction="x")
    commit = story.start("p", "commit", transaction="x")
    return story.poll("r", "a=t-0@0").end(commit)


def a_read_of_own_records() -> Story:
    story = Story().begin("p", "x").send("p", "a", "t-0@0", transaction="x")
    return story.poll("p", "a=t-0@0", transaction="x").commit("p", "x")


def two_transactions_that_read_each_other() -> Story:
    story = Story().begin("p", "x", "one").begin("q", "y", "two")
    story.send("p", "a", "t-0@0", transaction="x").send("q", "b", "t-1@0", transaction="y")
    first = story.start("p", "poll", transaction="x")
    second = story.start("q", "poll", transaction="y")
    story.start("p", "commit", transaction="x")
    commits = story.start("q", "commit", transaction="y")
    story.end(first, records=[("t-1", 0, "b")]).end(second, records=[("t-0", 0, "a")])
    return story.end(commits)


def a_transaction_that_read_the_future() -> Story:
    """x read what z wrote, y began after x, and z read y."""
    story = Story().begin("p", "x", "one")
    story.begin("s", "z", "three").send("s", "c", "t-2@0", transaction="z")
    future = story.start("p", "poll", transaction="x")
    ends_last = story.start("s", "commit", transaction="z")
    story.end(future, records=[("t-2", 0, "c")]).commit("p", "x")
    story.begin("q", "y", "two").send("q", "b", "t-1@0", transaction="y").commit("q", "y")
    return story.poll("s", "b=t-1@0", transaction="z").end(ends_last)


def a_chain_of_transactions() -> Story:
    story = Story().begin("p", "x", "one").send("p", "a", "t-0@0", transaction="x")
    story.commit("p", "x").begin("q", "y", "two").poll("q", "a=t-0@0", transaction="y")
    story.send("q", "b", "t-1@0", transaction="y").commit("q", "y")
    story.begin("p", "z", "one").poll("p", "b=t-1@0", transaction="z")
    return story.commit("p", "z")


def a_read_behind_an_open_transaction() -> Story:
    story = Story().begin("p", "x").send("p", "a", "t-0@0", transaction="x")
    return story.send("q", "b", "t-0@1").poll("r", "b=t-0@1").abort("p", "x")


def an_uncommitted_read_behind_an_open_transaction() -> Story:
    story = Story().begin("p", "x").send("p", "a", "t-0@0", transaction="x")
    story.send("q", "b", "t-0@1")
    return story.poll("r", "b=t-0@1", isolation="read_uncommitted").abort("p", "x")


def a_read_behind_a_transaction_that_timed_out() -> Story:
    story = Story().begin("p", "x", timeout=3.0).send("p", "a", "t-0@0", transaction="x")
    return story.send("q", "b", "t-0@1").poll("r", "b=t-0@1")


def a_read_behind_a_fenced_transaction() -> Story:
    story = Story().init("p").begin("p", "x").send("p", "a", "t-0@0", transaction="x")
    return story.init("q").send("q", "b", "t-0@2").poll("r", "b=t-0@2")


def a_read_behind_a_transaction_that_begins_while_it_is_fenced() -> Story:
    story = Story().init("p")
    takes_over = story.start("q", "init", transactional_id="id")
    story.begin("p", "x").send("p", "a", "t-0@0", transaction="x")
    return story.end(takes_over).send("q", "b", "t-0@2").poll("r", "b=t-0@2")


def three_sent() -> Story:
    return Story().send("p", "a", "t-0@0").send("p", "b", "t-0@1").send("p", "c", "t-0@2")


def a_reader_that_jumps() -> Story:
    story = three_sent().poll("s", "a=t-0@0", "b=t-0@1", "c=t-0@2")
    return story.poll("r", "a=t-0@0").poll("r", "c=t-0@2")


def a_position_that_jumps() -> Story:
    story = three_sent().poll("s", "a=t-0@0", "b=t-0@1", "c=t-0@2")
    return story.poll("r", "a=t-0@0", positions={"t-0": 3})


def a_reader_that_seeks() -> Story:
    story = three_sent().poll("s", "a=t-0@0", "b=t-0@1", "c=t-0@2")
    return story.poll("r", "a=t-0@0").assign("r", "t-0").poll("r", "c=t-0@2")


def a_reader_that_is_reassigned_during_a_poll() -> Story:
    story = three_sent().poll("r", "a=t-0@0", "b=t-0@1")
    poll = story.start("r", "poll")
    return story.assign("r", "t-0").end(poll, records=[("t-0", 0, "a")])


def a_hole_where_a_marker_is() -> Story:
    story = Story().begin("p", "x").send("p", "a", "t-0@0", transaction="x").commit("p", "x")
    return story.send("p", "b", "t-0@2").poll("r", "a=t-0@0", "b=t-0@2", positions={"t-0": 3})


def a_reader_that_goes_back() -> Story:
    return three_sent().poll("r", "a=t-0@0", "b=t-0@1").poll("r", "b=t-0@1", "c=t-0@2")


def a_reader_that_goes_back_after_an_abort() -> Story:
    story = three_sent().poll("r", "a=t-0@0", "b=t-0@1").assign("r", "t-0")
    return story.poll("r", "b=t-0@1", "c=t-0@2")


def a_commit_that_goes_back() -> Story:
    story = three_sent().poll("r", "a=t-0@0", "b=t-0@1", group="g")
    return story.commit_offsets("r", {"t-0": 2}).commit_offsets("s", {"t-0": 1})


def commits_at_the_same_time() -> Story:
    story = three_sent().poll("r", "a=t-0@0", "b=t-0@1", group="g")
    later = story.start("r", "commit_offsets", group="g", offsets={"t-0": 2})
    return story.commit_offsets("s", {"t-0": 1}).end(later)


def a_commit_of_what_was_not_read() -> Story:
    story = three_sent().poll("r", "a=t-0@0", group="g").commit_offsets("r", {"t-0": 2})
    return story.poll("s", "a=t-0@0", "b=t-0@1", "c=t-0@2")


def a_commit_beyond_an_aborted_transaction() -> Story:
    story = Story().send("p", "a", "t-0@0").begin("q", "x")
    story.poll("q", "a=t-0@0", group="g", transaction="x")
    story.commit_offsets("q", {"t-0": 1}, transaction="x").abort("q", "x")
    return story.commit_offsets("s", {"t-0": 1})


def a_commit_of_what_was_polled_for_a_transaction_that_never_began() -> Story:
    story = Story().send("p", "a", "t-0@0").poll("q", "a=t-0@0", group="g", transaction="x")
    return story.commit_offsets("s", {"t-0": 1})


def a_read_of_aborted_offsets() -> Story:
    story = Story().send("p", "a", "t-0@0").begin("q", "x")
    story.poll("q", "a=t-0@0", group="g", transaction="x")
    story.commit_offsets("q", {"t-0": 1}, transaction="x").abort("q", "x")
    return story.read_offsets("s", {"t-0": 1})


def a_read_of_committed_offsets() -> Story:
    story = Story().send("p", "a", "t-0@0").begin("q", "x")
    story.poll("q", "a=t-0@0", group="g", transaction="x")
    story.commit_offsets("q", {"t-0": 1}, transaction="x").commit("q", "x")
    return story.read_offsets("s", {"t-0": 1})


def a_read_of_offsets_of_yesterday() -> Story:
    story = three_sent().poll("r", "a=t-0@0", "b=t-0@1", group="g")
    story.commit_offsets("r", {"t-0": 1}).commit_offsets("r", {"t-0": 2})
    return story.read_offsets("s", {"t-0": 1})


def a_read_of_offsets_that_may_be_committed() -> Story:
    story = three_sent().poll("r", "a=t-0@0", "b=t-0@1", group="g")
    story.commit_offsets("r", {"t-0": 1}).commit_offsets("r", {"t-0": 2}, outcome="unknown")
    return story.read_offsets("s", {"t-0": 1}).read_offsets("s", {"t-0": 2})


UNSOUND: dict[str, list[Write]] = {
    "lost": [
        lost_behind_a_later_read,
        lost_beyond_the_end,
        lost_at_an_unknown_offset,
        lost_with_its_whole_transaction,
    ],
    "torn": [torn_across_partitions, torn_with_an_unknown_outcome],
    "duplicated": [
        duplicated_by_a_retry,
        duplicated_elsewhere_than_acknowledged,
        made_twice_from_one_source,
        consumed_in_two_transactions,
    ],
    "reordered": [reordered_by_a_retry],
    "real-time order": [behind_what_was_sent_later],
    "shared offset": [two_values_at_one_offset, readers_that_disagree],
    "invented": [a_value_out_of_nothing, a_value_in_another_partition],
    "G0 dirty write": [a_late_write_of_a_fenced_producer],
    "G1a aborted read": [
        an_aborted_read,
        a_read_of_what_crashed,
        a_commit_after_which_the_producer_was_told_of_an_abort,
        a_read_of_a_refused_send,
        a_commit_refused,
    ],
    "G1b intermediate read": [a_read_before_the_commit, a_read_of_own_records],
    "G1c cycle": [two_transactions_that_read_each_other, a_transaction_that_read_the_future],
    "unstable read": [a_read_behind_an_open_transaction],
    "skipped": [a_reader_that_jumps, a_position_that_jumps],
    "reread": [a_reader_that_goes_back],
    "stale commit": [
        a_commit_that_goes_back,
        a_commit_of_what_was_not_read,
        a_commit_beyond_an_aborted_transaction,
        a_commit_of_what_was_polled_for_a_transaction_that_never_began,
        a_read_of_aborted_offsets,
        a_read_of_offsets_of_yesterday,
    ],
}

SOUND: list[Write] = [
    nothing_lost_in_what_is_not_read_yet,
    nothing_lost_where_the_outcome_is_unknown,
    whole_with_an_unknown_outcome,
    invisible_with_an_unknown_outcome,
    half_a_transaction_read_so_far,
    made_again_after_an_abort,
    consumed_again_after_an_abort,
    read_by_two_readers,
    pipelined_in_order,
    either_order_of_concurrent_sends,
    the_same_offset_of_two_partitions,
    a_value_that_nobody_confirmed,
    producers_that_interleave,
    an_aborted_read_that_is_uncommitted,
    a_read_during_the_commit,
    a_chain_of_transactions,
    an_uncommitted_read_behind_an_open_transaction,
    a_read_behind_a_transaction_that_timed_out,
    a_read_behind_a_fenced_transaction,
    a_read_behind_a_transaction_that_begins_while_it_is_fenced,
    a_reader_that_seeks,
    a_reader_that_is_reassigned_during_a_poll,
    a_hole_where_a_marker_is,
    a_reader_that_goes_back_after_an_abort,
    commits_at_the_same_time,
    a_read_of_committed_offsets,
    a_read_of_offsets_that_may_be_committed,
]


@pytest.mark.parametrize(
    ("kind", "write"), [(kind, write) for kind, writes in UNSOUND.items() for write in writes]
)
def test_an_anomaly_is_found(kind: str, write: Write) -> None:
    assert kind in write().anomalies


@pytest.mark.parametrize("write", SOUND)
def test_a_sound_history_has_no_anomalies(write: Write) -> None:
    assert write().report().anomalies == []


def test_every_class_of_anomalies_has_a_history() -> None:
    assert set(UNSOUND) == set(ANOMALIES)
