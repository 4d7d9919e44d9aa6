"""The blocking consumer commits records that a loop body finished, and records on request."""

from __future__ import annotations

import threading

import pytest

from pyk.clients import ConcurrentUseError, OffsetAndMetadata, Producer, ShareConsumer, StateError
from support.blocking_consuming import partitions, produce, read, reader
from support.real_time import eventually


def test_iteration_commits_records_that_the_loop_body_finished(cluster, topic):
    produce(cluster, topic, 300)
    seen = []

    def fail_at_the_hundredth() -> None:
        with reader(cluster, topic, group_id=topic) as consumer:
            for record in consumer:
                seen.append(record.value)
                if len(seen) == 100:
                    raise RuntimeError("this one is not finished")

    with pytest.raises(RuntimeError):
        fail_at_the_hundredth()
    with reader(cluster, topic, group_id=topic) as consumer:
        rest = read(consumer, 201)

    assert sorted(seen[:-1] + rest, key=int) == [b"%d" % n for n in range(300)]
    assert seen[-1] in rest


def test_leaving_a_loop_with_break_finishes_its_last_record(cluster, topic):
    produce(cluster, topic, 30)
    seen = []

    with reader(cluster, topic, group_id=topic) as consumer:
        for record in consumer:
            seen.append(record.value)
            if len(seen) == 10:
                break
    with reader(cluster, topic, group_id=topic) as consumer:
        seen += read(consumer, 20)

    assert sorted(seen, key=int) == [b"%d" % n for n in range(30)]


def test_close_in_a_finally_block_does_not_finish_the_record_that_failed(cluster, topic):
    produce(cluster, topic, 3)
    consumer = reader(cluster, topic, group_id=topic)

    def fail() -> None:
        try:
            for record in consumer:
                raise RuntimeError(record.value)
        finally:
            consumer.close()

    with pytest.raises(RuntimeError):
        fail()

    with reader(cluster, topic, group_id=topic) as again:
        assert len(read(again, 3)) == 3


def test_records_of_another_consumer_are_not_committed(cluster, topic):
    produce(cluster, topic, 3)
    with (
        reader(cluster, topic) as other,
        reader(cluster, topic, group_id=topic, enable_auto_commit=False) as consumer,
    ):
        batch = other.poll(5)
        failures = []

        for commit in (consumer.commit, lambda one: consumer.commit(list(one))):
            with pytest.raises(StateError, match="was handed out by another consumer"):
                commit(batch)
        consumer.commit_async(batch[0], lambda _, error: failures.append(error))
        eventually(lambda: consumer.poll(0.01) is not None and failures)

        assert "was handed out by another consumer" in str(failures[0])
        assert set(consumer.committed(partitions(topic)).values()) == {None}


def test_records_of_a_share_consumer_are_not_committed(cluster, topic):
    with (
        ShareConsumer(cluster.bootstrap, topics=[topic], group_id=f"{topic}-shared") as shared,
        reader(cluster, topic, group_id=topic) as consumer,
    ):
        records = []

        def gets_some() -> bool:
            produce(cluster, topic, 1)  # a share group begins with what comes after it
            records.extend(shared.poll(0.1))
            return bool(records)

        eventually(gets_some)

        with pytest.raises(StateError, match="is of a share consumer: acknowledge it there"):
            consumer.commit(records[0])


def test_offsets_are_committed_in_every_form(cluster, topic):
    produce(cluster, topic, 30)
    first, second, third = partitions(topic)

    with reader(cluster, group_id=topic, enable_auto_commit=False) as consumer:
        consumer.assign([first])
        batch = consumer.poll(5, max_records=4)
        consumer.commit(batch[1])
        assert consumer.committed([first]) == {first: OffsetAndMetadata(2, "", 0)}
        consumer.commit(batch)
        assert consumer.committed([first]) == {first: OffsetAndMetadata(4, "", 0)}
        consumer.commit({second: 5, third: OffsetAndMetadata(6, "note")})
        assert consumer.committed([second, third]) == {
            second: OffsetAndMetadata(5),
            third: OffsetAndMetadata(6, "note"),
        }
        consumer.poll(5, max_records=3)
        consumer.commit()
        assert consumer.committed([first]) == {first: OffsetAndMetadata(7, "", 0)}


def test_another_thread_commits_only_records_that_it_names(cluster, topic):
    produce(cluster, topic, 30)
    refusals = []

    def commit_unnamed() -> None:
        try:
            consumer.commit()
        except ConcurrentUseError as error:
            refusals.append(str(error))

    def in_a_thread(call) -> None:
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()

    with reader(cluster, topic, group_id=topic, enable_auto_commit=False) as consumer:
        record = next(consumer)
        in_a_thread(commit_unnamed)
        assert set(consumer.committed(partitions(topic)).values()) == {None}
        in_a_thread(lambda: consumer.commit(record))
        committed = consumer.committed(partitions(topic))

    assert len(refusals) == 1
    assert "pass it what is finished" in refusals[0]
    assert committed[record.topic, record.partition] == OffsetAndMetadata(1, leader_epoch=0)


def test_close_does_not_commit_the_record_whose_loop_body_failed(cluster, topic):
    produce(cluster, topic, 30)
    consumer = reader(cluster, topic, group_id=topic)

    try:
        for taken, _ in enumerate(consumer):
            if taken == 2:
                raise ValueError("the loop body fails")
    except ValueError:
        pass
    consumer.close()

    with reader(cluster, group_id=topic) as observer:
        committed = observer.committed(partitions(topic))
    assert sum(offset.offset for offset in committed.values() if offset is not None) == 2


def test_a_member_that_was_removed_for_slow_polls_rejoins_at_the_next_poll(cluster, topic):
    produce(cluster, topic, 30)
    # A member that checks for polls only once per heartbeat interval would rejoin too late.
    patience = {"heartbeat_interval_ms": 100_000, "session_timeout_ms": 300_000}
    with reader(
        cluster, topic, group_id=topic, max_poll_interval_ms=300, max_poll_records=1, **patience
    ) as consumer:
        read(consumer, 1)
        eventually(lambda: consumer.health().group_state == "away")

        assert len(read(consumer, 20)) >= 20


def test_a_producer_can_commit_what_a_blocking_consumer_has_handed_out(cluster, topic):
    produce(cluster, topic, 30)

    with (
        reader(cluster, topic, group_id=topic, enable_auto_commit=False) as consumer,
        Producer(cluster.bootstrap, transactional_id=topic) as producer,
    ):
        with pytest.raises(RuntimeError):
            read_and_fail(producer, consumer)
        with producer.transaction(consumer) as transaction:
            values = read(consumer, 30)
            transaction.send_offsets(consumer)
        metadata = consumer.group_metadata()
        committed = consumer.committed(partitions(topic))

    assert sorted(values, key=int) == [b"%d" % n for n in range(30)]
    assert metadata.generation_id >= 1
    assert metadata.member_id
    assert {target.offset for target in committed.values() if target} == {10}


def read_and_fail(producer, consumer):
    with producer.transaction(consumer) as transaction:
        read(consumer, 30)
        transaction.send_offsets(consumer)
        raise RuntimeError


def test_callbacks_of_commits_run_in_the_thread_that_polls(cluster, topic):
    produce(cluster, topic, 10)
    told = []

    with reader(cluster, topic, group_id=topic, enable_auto_commit=False) as consumer:
        read(consumer, 10)
        consumer.commit_async(callback=lambda *_: told.append(threading.current_thread()))
        consumer.commit()

    assert told == [threading.current_thread()]


def test_a_callback_of_a_commit_cannot_poll_and_cannot_be_a_coroutine(cluster, topic):
    produce(cluster, topic, 10)

    async def tell(*_: object) -> None: ...

    with reader(cluster, topic, group_id=topic) as consumer:
        read(consumer, 10)
        consumer.commit_async(callback=lambda *_: consumer.poll(0))
        with pytest.raises(StateError, match="cannot poll inside poll"):
            eventually(lambda: consumer.poll(0.1) and False, 10)
        consumer.commit_async(callback=tell)
        with pytest.raises(StateError, match="cannot be a coroutine"):
            consumer.commit()
