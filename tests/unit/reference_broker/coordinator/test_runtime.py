"""What runs a shard over its log: decide, commit, publish, in this order and no other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.coordinator.decision import (
    NOTHING,
    Action,
    Decision,
    TransactionalProducer,
)
from pyk.reference_broker.coordinator.runtime import ShardRuntime
from pyk.reference_broker.coordinator.shard_timers import ShardTimers
from pyk.reference_broker.deferred import Deferred
from pyk.runtime import slotted
from pyk.runtime.timers import Moment, TimerQueue
from support.groups import MemoryShardLog

PRODUCER = TransactionalProducer(7, 0)


@slotted.frozen
class Word:
    text: str

    def encode(self) -> tuple[bytes | None, bytes | None]:
        return None, self.text.encode()


class Words:
    """A shard that remembers words, and writes down what happens to it.

    It knows one transaction at a time.
    """

    def __init__(self, timers: ShardTimers, events: list[str], at_load: Sequence[Decision]) -> None:
        self.timers = timers
        self.words: list[str] = []
        self.pending: list[str] = []
        self._events = events
        self._at_load = at_load

    def add(self, *words: str, **more: Any) -> tuple[str, Decision]:
        self._events.append("decide")
        return "added", Decision([Word(word) for word in words], **more)

    def decode(self, key: bytes | None, value: bytes | None) -> Word:
        return Word((value or b"").decode())

    def replay(self, record: Word) -> None:
        self._events.append(f"replay {record.text}")
        self.words.append(record.text)

    def replay_pending(self, record: Word, producer_id: int) -> None:
        self._events.append(f"pending {record.text} of {producer_id}")
        self.pending.append(record.text)

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        self._events.append(f"{'commit' if is_commit else 'abort'} {producer_id}")
        if is_commit:
            self.words += self.pending
        self.pending.clear()

    def loaded(self, moment: Moment) -> list[Decision]:
        return list(self._at_load)

    def unloaded(self) -> None:
        self._events.append("unloaded")


class Running:
    """A runtime over a log in memory; ``events`` is what happened, in order.

    ``at_load`` is what the shard decides when its log was read.
    """

    def __init__(self, log: MemoryShardLog | None = None, at_load: Sequence[Decision] = ()) -> None:
        self.log = log or MemoryShardLog()
        self.events: list[str] = []
        self.timers = TimerQueue(lambda _: None)
        self.asked: list[tuple[Any, Deferred[Any]]] = []
        self.runtime = ShardRuntime(
            "words",
            self.log,
            self.timers,
            lambda: Moment(0, 0),
            lambda timers: Words(timers, self.events, at_load),
            publish=self._publish,
            act=self._act,
        )

    def _publish(self, records: Sequence[Word]) -> None:
        self.events.append(f"publish {' '.join(each.text for each in records)}")

    def _act(self, request: Any) -> Deferred[Any]:
        self.events.append(f"act {request}")
        result: Deferred[Any] = Deferred()
        self.asked.append((request, result))
        return result

    def add(self, *words: str, **more: Any) -> list[Any]:
        """Add words; return the answers, of which there is one as soon as it may be given."""
        answers: list[Any] = []
        answer = self.runtime.ask(lambda shard, _: shard.add(*words, **more), lambda code: code)
        answer.when_done(lambda value: (self.events.append("answer"), answers.append(value)))
        return answers

    def end_transaction(self, *, is_commit: bool) -> None:
        """Append a marker, and tell the runtime, as a partition does."""
        self.log.end_transaction(PRODUCER.producer_id, is_commit=is_commit)
        self.runtime.transaction_ended(PRODUCER.producer_id, is_commit=is_commit)
        self.runtime.high_watermark_moved()

    def look(self) -> list[Any]:
        seen: list[Any] = []
        look = self.runtime.look(lambda shard: list(shard.words), lambda code: code)
        look.when_done(seen.append)
        return seen

    def load(self) -> None:
        for _ in self.runtime.load():
            pass

    def commit_all(self) -> None:
        self.log.is_held = False
        self.runtime.high_watermark_moved()


def test_a_shard_decides_then_commits_then_publishes_then_answers_then_acts() -> None:
    running = Running()
    running.log.hold()

    running.add("one", actions=[Action("send it on", lambda result, moment: NOTHING)])
    running.commit_all()

    assert running.events == [
        "decide",
        "replay one",
        "publish one",
        "answer",
        "act send it on",
    ]


def test_nothing_is_published_answered_or_done_before_it_is_committed() -> None:
    running = Running()
    running.log.hold()

    answers = running.add("one", actions=[Action("send", lambda result, moment: NOTHING)])

    assert running.events == ["decide", "replay one"]
    assert answers == []


def test_a_look_waits_until_the_state_that_it_sees_is_committed() -> None:
    running = Running()
    running.add("one")
    running.log.hold()
    running.add("two")

    seen = running.look()
    assert seen == []

    running.commit_all()
    assert seen == [["one", "two"]]


def test_a_look_after_a_load_waits_until_the_loaded_records_are_committed() -> None:
    before = Running()
    before.log.hold()
    before.add("one")

    after = Running(before.log)
    after.load()
    seen = after.look()
    assert seen == []

    after.commit_all()
    assert seen == [["one"]]


def test_no_reader_sees_records_that_a_failed_log_may_lose() -> None:
    running = Running()
    running.log.hold()
    written = running.add("one")
    running.log.failure = ErrorCode.KAFKA_STORAGE_ERROR

    running.runtime.high_watermark_moved()

    assert written == [ErrorCode.KAFKA_STORAGE_ERROR]
    assert running.look() == [ErrorCode.KAFKA_STORAGE_ERROR]
    assert running.add() == [ErrorCode.KAFKA_STORAGE_ERROR]


def test_committed_state_is_still_visible_when_the_log_has_failed() -> None:
    running = Running()
    running.add("one")
    running.log.failure = ErrorCode.KAFKA_STORAGE_ERROR

    assert running.look() == [["one"]]


def test_a_look_at_committed_state_is_answered_at_once() -> None:
    running = Running()
    running.add("one")

    assert running.look() == [["one"]]


def test_a_decision_without_records_is_answered_after_those_it_may_rest_on() -> None:
    running = Running()
    running.log.hold()
    first = running.add("one")
    second = running.add()
    assert (first, second) == ([], [])

    running.commit_all()

    assert (first, second) == (["added"], ["added"])


def test_a_refused_append_changes_nothing() -> None:
    running = Running()
    running.log.fails_with = ErrorCode.KAFKA_STORAGE_ERROR

    assert running.add("one") == [ErrorCode.KAFKA_STORAGE_ERROR]

    running.log.fails_with = None
    assert running.look() == [[]]
    assert "publish one" not in running.events


def test_a_decision_that_need_not_be_atomic_is_split_into_batches_that_fit() -> None:
    running = Running()
    running.log.max_batch_bytes = 200

    answers = running.add("a" * 60, "b" * 60, "c", is_atomic=False)

    # 61 bytes of header, then 32 and the text for each record.
    assert [len(batch) for batch in running.log.batches] == [1, 2]
    assert answers == ["added"]


def test_an_atomic_decision_is_one_batch_however_large() -> None:
    running = Running()
    running.log.max_batch_bytes = 200

    running.add("a" * 200, "b" * 200)

    assert [len(batch) for batch in running.log.batches] == [2]


def test_batches_before_one_that_fails_are_published_and_the_failure_is_answered() -> None:
    running = Running()
    running.log.max_batch_bytes = 200
    running.log.fails_after(1, ErrorCode.KAFKA_STORAGE_ERROR)

    answers = running.add("a" * 100, "b" * 100, is_atomic=False)

    assert answers == [ErrorCode.KAFKA_STORAGE_ERROR]
    assert running.events[-2:] == ["publish " + "a" * 100, "answer"]
    assert running.look() == [["a" * 100]]


def test_the_result_of_an_action_is_reported_to_the_shard_and_written() -> None:
    running = Running()

    def report(result: str, moment: Moment) -> Decision:
        return Decision([Word(f"heard {result}")])

    running.add("one", actions=[Action("send", report)])
    assert running.look() == [["one"]]

    [(request, result)] = running.asked
    result.complete("yes")

    assert request == "send"
    assert running.look() == [["one", "heard yes"]]
    assert len(running.log) == 2


def test_an_action_that_ends_after_its_shard_is_unloaded_changes_nothing() -> None:
    running = Running()
    report = Action("send", lambda result, moment: Decision([Word("late")]))
    running.add("one", actions=[report])
    running.runtime.unload()

    running.asked[0][1].complete("yes")

    assert len(running.log) == 1


def test_an_unloaded_shard_sends_all_waiters_to_another_coordinator() -> None:
    running = Running()
    running.log.hold()
    written, seen = running.add("one"), running.look()

    running.runtime.unload()

    assert (written, seen) == ([ErrorCode.NOT_COORDINATOR], [ErrorCode.NOT_COORDINATOR])
    assert "publish one" not in running.events
    assert running.events[-1] == "unloaded"


def test_an_unloaded_shard_decides_nothing_more() -> None:
    running = Running()
    running.runtime.unload()
    refused: list[ErrorCode] = []

    assert running.add("one") == [ErrorCode.NOT_COORDINATOR]
    assert running.look() == [ErrorCode.NOT_COORDINATOR]
    running.runtime.tell(lambda shard, _: pytest.fail("handled"), refused.append)
    assert refused == [ErrorCode.NOT_COORDINATOR]
    assert "decide" not in running.events
    assert len(running.log) == 0


def test_an_event_in_which_its_shard_is_unloaded_writes_nothing() -> None:
    running = Running()

    def unload(shard: Words, _: Moment) -> Decision:
        running.runtime.unload()
        return Decision([Word("late")])

    running.runtime.tell(unload)

    assert len(running.log) == 0


def test_nothing_that_an_unloaded_shard_has_scheduled_happens() -> None:
    running = Running()
    running.runtime.tell(
        lambda shard, _: (
            shard.timers.schedule(("later",), 5.0, lambda moment: Decision([Word("late")]))
            or NOTHING
        )
    )

    running.runtime.unload()
    running.timers.advance(10.0)

    assert len(running.log) == 0


def test_nothing_stays_scheduled_by_a_write_that_the_end_of_its_shard_fails() -> None:
    running = Running()
    running.log.hold()
    retry = Decision([Word("retry")])
    running.runtime.tell(
        lambda shard, _: Decision(
            [Word("one")],
            lambda error: shard.timers.schedule(("again",), 5.0, lambda moment: retry),
        )
    )

    running.runtime.unload()

    assert len(running.timers) == 0


def test_a_shard_is_loaded_from_the_records_of_another_one() -> None:
    before = Running()
    before.add("one", "two")

    after = Running(before.log)
    after.load()

    assert after.look() == [["one", "two"]]
    assert after.events == ["replay one", "publish one", "replay two", "publish two"]
    assert len(after.log) == 2, "replaying writes nothing"


def test_only_the_last_value_of_a_key_is_loaded_in_the_order_of_the_last_values() -> None:
    log = MemoryShardLog()
    log.append([(b"a", b"old"), (b"b", b"second"), (b"a", b"new"), (b"c", b"gone")], 0)
    log.append([(b"c", None)], 0)
    running = Running(log)

    running.load()

    assert running.look() == [["second", "new"]]


def test_what_a_shard_decides_when_it_is_loaded_is_written() -> None:
    running = Running(at_load=[Decision([Word("again")])])

    running.load()

    assert running.look() == [["again"]]
    assert len(running.log) == 1


def test_records_of_a_transaction_are_replayed_as_pending_and_answered_when_committed() -> None:
    running = Running()
    running.log.hold()

    answers = running.add("one", producer=PRODUCER)
    assert answers == []
    running.commit_all()

    assert answers == ["added"]
    assert running.events == ["decide", "pending one of 7", "publish one", "answer"]
    assert running.look() == [[]]


@pytest.mark.parametrize(("is_commit", "words"), [(True, ["one"]), (False, [])])
def test_a_marker_in_the_log_ends_a_transaction(is_commit: bool, words: list[str]) -> None:
    running = Running()
    running.add("one", producer=PRODUCER)

    running.end_transaction(is_commit=is_commit)

    assert running.look() == [words]


def test_a_look_waits_until_the_marker_that_it_sees_is_committed() -> None:
    running = Running()
    running.add("one", producer=PRODUCER)
    running.log.hold()
    running.end_transaction(is_commit=True)

    seen = running.look()
    assert seen == []

    running.commit_all()
    assert seen == [["one"]]


def test_a_marker_after_the_end_of_its_shard_changes_nothing() -> None:
    running = Running()
    running.add("one", producer=PRODUCER)
    running.runtime.unload()

    running.end_transaction(is_commit=True)

    assert "commit 7" not in running.events


def test_records_of_an_open_transaction_are_loaded_as_pending() -> None:
    log = MemoryShardLog()
    log.append([(b"a", b"one")], 0, PRODUCER)
    running = Running(log)
    running.load()
    assert running.events == ["pending one of 7", "publish one"]

    running.end_transaction(is_commit=True)

    assert running.look() == [["one"]]


def test_an_ended_transaction_is_loaded_like_other_records() -> None:
    log = MemoryShardLog()
    log.append([(b"a", b"one")], 0, PRODUCER)
    log.end_transaction(7, is_commit=True)
    log.append([(b"b", b"two")], 0, PRODUCER)
    log.end_transaction(7, is_commit=False)
    running = Running(log)

    running.load()

    assert running.events == ["replay one", "publish one"]
