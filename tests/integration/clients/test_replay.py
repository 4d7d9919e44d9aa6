"""Dead letters go back to the topics that they come from, once."""

from __future__ import annotations

import os

import pytest

from pyk.clients import (
    Admin,
    Consumer,
    OffsetAndMetadata,
    Producer,
    TopicPartition,
    replay_dead_letters,
)
from pyk.clients.errors import (
    ConfigurationError,
    NonEmptyGroupError,
    RecordTooLargeError,
    UnknownTopicOrPartitionError,
)
from support.blocking_consuming import reader
from support.real_time import eventually


def dead_letters(cluster, dead_topic, origin, *values):
    with Producer[bytes, bytes](cluster.bootstrap) as producer:
        for value in values:
            headers = [("pyk-origin-topic", origin.encode())]
            producer.send_and_wait(dead_topic, value, headers=headers)


def test_a_replay_ends_where_the_last_dead_letters_were_aborted(cluster, topic):
    dead_topic, headers = f"{topic}.dead", [("pyk-origin-topic", topic.encode())]
    cluster.create_topic(dead_topic)
    with Producer[bytes, bytes](cluster.bootstrap, transactional_id=topic) as producer:
        with producer.transaction():
            producer.send(dead_topic, b"committed", headers=headers)
        producer.begin_transaction()
        producer.send_and_wait(dead_topic, b"aborted", headers=headers)
        producer.abort_transaction()

    assert replay_dead_letters(cluster.bootstrap, dead_topic) == 1
    assert replay_dead_letters(cluster.bootstrap, dead_topic) == 0


def test_a_replay_ends_with_the_records_that_were_there_when_it_began(cluster, topic, caplog):
    dead_letters(cluster, topic, topic, b"1", b"2", b"3")

    assert replay_dead_letters(cluster.bootstrap, topic) == 3
    assert not caplog.text
    assert replay_dead_letters(cluster.bootstrap, topic) == 0
    assert "Left 3 records" in caplog.text


def test_each_group_replays_for_itself(cluster, topic):
    dead_topic = f"{topic}.dead"
    cluster.create_topic(dead_topic)
    dead_letters(cluster, dead_topic, topic, b"1")

    counts = [
        replay_dead_letters(cluster.bootstrap, dead_topic, group_id=f"{topic}.{name}")
        for name in ("a", "a", "b")
    ]

    assert counts == [1, 0, 1]
    with reader(cluster, topic) as consumer:
        assert [next(consumer).value for _ in range(2)] == [b"1", b"1"]


def test_a_dead_letter_that_is_not_written_is_replayed_by_the_next_call(cluster, topic):
    dead_topic, small = f"{topic}.dead", f"{topic}.small"
    cluster.create_topic(dead_topic)
    cluster.create_topic(small, configs={"max.message.bytes": "1000"})
    dead_letters(cluster, dead_topic, small, os.urandom(5_000))

    for _ in range(2):
        with pytest.raises(RecordTooLargeError):
            replay_dead_letters(cluster.bootstrap, dead_topic)


def test_a_replayed_record_has_its_own_headers_alone(cluster, topic):
    dead_topic = f"{topic}.dead"
    cluster.create_topic(dead_topic)
    with Producer[bytes, bytes](cluster.bootstrap) as producer:
        headers = [("trace", b"7"), ("pyk-origin-topic", topic.encode()), ("pyk-attempts", b"3")]
        producer.send_and_wait(dead_topic, b"value", b"key", headers=headers)

    replay_dead_letters(cluster.bootstrap, dead_topic)

    with reader(cluster, topic) as consumer:
        record = next(consumer)
    assert (record.key, record.value, record.headers) == (b"key", b"value", (("trace", b"7"),))


def test_a_topic_that_does_not_exist_is_not_created_by_a_replay(cluster, topic):
    with pytest.raises(UnknownTopicOrPartitionError, match=f"{topic}.dead"):
        replay_dead_letters(cluster.bootstrap, f"{topic}.dead")

    with Admin(cluster.bootstrap) as admin:
        assert f"{topic}.dead" not in admin.list_topics()


@pytest.mark.parametrize(
    "option", [{"acks": 0}, {"auto_offset_reset": "latest"}, {"group_instance_id": "a"}]
)
def test_options_that_one_of_its_clients_has_are_refused(cluster, topic, option):
    (name,) = option
    with pytest.raises(ConfigurationError, match=f"a replay does not take {name}: it takes"):
        replay_dead_letters(cluster.bootstrap, topic, **option)


def test_options_of_all_clients_are_taken_and_unknown_ones_are_not(cluster, topic):
    assert replay_dead_letters(cluster.bootstrap, topic, client_id="mender") == 0
    with pytest.raises(ConfigurationError, match="'dry_run' is not an option"):
        replay_dead_letters(cluster.bootstrap, topic, dry_run=True)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_group_of_an_application_that_runs_is_refused_before_anything_is_written(
    cluster, topic, protocol
):
    dead_topic = f"{topic}.dead"
    cluster.create_topic(dead_topic)
    dead_letters(cluster, dead_topic, topic, b"1")
    with reader(cluster, topic, group_id=topic, group_protocol=protocol) as application:
        application.poll(0)
        eventually(lambda: application.poll(0.1) is not None and application.assignment())

        with pytest.raises(NonEmptyGroupError, match="nothing was written: stop its members"):
            replay_dead_letters(cluster.bootstrap, dead_topic, group_id=topic)

        assert not application.poll(0.5)
    assert replay_dead_letters(cluster.bootstrap, dead_topic, group_id=topic) == 1


def test_members_that_join_during_a_replay_are_told_of_with_what_was_written(cluster, topic):
    dead_topic = f"{topic}.dead"
    cluster.create_topic(dead_topic)
    dead_letters(cluster, dead_topic, topic, b"1")
    with (
        cluster.faults.on("OffsetCommit").after(1).error("UNKNOWN_MEMBER_ID"),
        pytest.raises(NonEmptyGroupError, match="1 record written"),
    ):
        replay_dead_letters(cluster.bootstrap, dead_topic)


def test_the_notes_of_the_group_are_kept_where_there_is_nothing_to_replay(cluster, topic):
    dead_topic = f"{topic}.dead"
    cluster.create_topic(dead_topic)
    dead_letters(cluster, dead_topic, topic, b"1")
    noted = OffsetAndMetadata(1, "a note")
    with Consumer[bytes, bytes](cluster.bootstrap, group_id=topic) as consumer:
        consumer.commit({TopicPartition(dead_topic, 0): noted})

        assert replay_dead_letters(cluster.bootstrap, dead_topic, group_id=topic) == 0

        (committed,) = consumer.committed([(dead_topic, 0)]).values()
    assert committed is not None
    assert committed.metadata == "a note"
