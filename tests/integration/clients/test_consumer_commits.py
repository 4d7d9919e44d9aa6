"""What the blocking consumer commits: what a loop body has finished, and what it is told to."""

from __future__ import annotations

import pytest

from pyk.clients import OffsetAndMetadata
from support.blocking_consuming import partitions, produce, read, reader


def test_iteration_commits_what_the_loop_body_finished(cluster, topic):
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
