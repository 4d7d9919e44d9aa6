"""The blocking consumer over real sockets: reading, offsets, deserializers, misuse."""

from __future__ import annotations

import sys

import pytest

from pyk.clients import (
    ClosedError,
    ConfigurationError,
    Consumer,
    DeserializationError,
    JsonDeserializer,
    Producer,
    SerializationError,
    StateError,
    StringSerializer,
    TopicPartition,
)
from support.blocking_consuming import partitions, produce, read, reader
from support.real_time import eventually


def test_the_topics_of_the_constructor_are_read_without_a_group(cluster, topic):
    produce(cluster, topic, 300)

    with reader(cluster, topic) as consumer:
        values = read(consumer, 300)
        assert consumer.assignment() == set(partitions(topic))
        assert consumer.subscription() == {topic}

    assert sorted(values, key=int) == [b"%d" % n for n in range(300)]


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_is_read(cluster, topic, compression):
    produce(cluster, topic, 600, compression_type=compression)

    with reader(cluster, topic) as consumer:
        assert sorted(read(consumer, 600), key=int) == [b"%d" % n for n in range(600)]


def test_a_consumer_connects_by_itself_when_it_is_first_used(cluster, topic):
    produce(cluster, topic, 3)

    consumer = reader(cluster, topic)
    assert len(read(consumer, 3)) == 3
    consumer.close()
    consumer.close()


def test_properties_configure_a_consumer(cluster, topic):
    produce(cluster, topic, 3)
    properties = {
        "bootstrap.servers": cluster.bootstrap,
        "auto.offset.reset": "earliest",
        "max.poll.records": "2",
    }

    with Consumer.from_properties(properties, topics=[topic], client_id="mine") as consumer:
        assert len(consumer.poll(5)) <= 2


def test_positions_can_be_set_and_asked_for(cluster, topic):
    produce(cluster, topic, 30)
    first, second, third = partitions(topic)

    with reader(cluster) as consumer:
        consumer.assign(partitions(topic))
        assert consumer.position(first) == 0
        consumer.seek(first, 7)
        consumer.seek_to_end(second)
        consumer.pause(third)
        assert consumer.paused() == {third}
        assert consumer.position(second) == 10
        assert sorted(read(consumer, 3)) == [b"21", b"24", b"27"]
        assert consumer.position(first) == 10
        consumer.resume(third)
        assert len(read(consumer, 10)) == 10
        consumer.seek_to_beginning()
        assert len(read(consumer, 30)) == 30
        assert consumer.lag() == dict.fromkeys(partitions(topic), 0)
        assert consumer.health().is_healthy
        assert consumer.stats().records == 43


def test_offsets_are_found_at_the_ends_and_by_time(cluster, topic):
    with Producer(cluster.bootstrap) as producer:
        for second in range(5):
            producer.send(topic, b"x", partition=0, timestamp_ms=1_000_000 + second * 1000)
    first, second, _ = partitions(topic)

    with reader(cluster) as consumer:
        assert consumer.beginning_offsets([first, second]) == {first: 0, second: 0}
        assert consumer.end_offsets([first, second]) == {first: 5, second: 0}
        with pytest.raises(TypeError, match="not float; convert seconds"):
            consumer.offsets_for_times({first: 1_002.5})
        with pytest.raises(TypeError, match="timestamps must be a mapping from TopicPartition"):
            consumer.offsets_for_times([first])
        found = consumer.offsets_for_times({first: 1_002_500, second: 0})
        assert found[first] is not None
        assert (found[first].offset, found[first].timestamp) == (3, 1_003_000)
        assert found[second] is None


def test_deserializers_return_keys_and_values(cluster, topic):
    class Shout:
        def deserialize(self, topic: str, data: bytes) -> str:
            return f"{topic}: {data.decode().upper()}"

    produce(cluster, topic, 3)
    with reader(cluster, key_deserializer=Shout(), value_deserializer=int) as consumer:
        consumer.assign([(topic, 1)])
        (record,) = consumer.poll(5)

    assert (record.key, record.value) == (f"{topic}: KEY 1", 1)


def test_a_record_that_cannot_be_deserialized_raises_until_the_application_seeks_past_it(
    cluster, topic
):
    def number(data: bytes) -> int:
        if data == b"4":
            raise ValueError("no four")
        return int(data)

    produce(cluster, topic, 9)
    partition = TopicPartition(topic, 1)  # holds 1, 4 and 7
    with reader(cluster, value_deserializer=number) as consumer:
        consumer.assign([partition])
        assert [record.value for record in consumer.poll(5)] == [1]
        with pytest.raises(DeserializationError) as caught:
            consumer.poll(5)
        assert (caught.value.topic_partition, caught.value.offset) == (partition, 1)
        with pytest.raises(DeserializationError):
            next(consumer)

        consumer.seek(partition, caught.value.offset + 1)

        assert next(consumer).value == 7


def test_a_deserialization_error_keeps_the_raw_record_for_a_dead_letter_topic(cluster, topic):
    with Producer(cluster.bootstrap) as producer:
        producer.send_and_wait(
            topic, b"{", b"k", partition=0, headers=[("h", b"1")], timestamp_ms=5_000
        )
        producer.send_and_wait(topic, b"{}", partition=0)

    with reader(cluster, topic, value_deserializer=JsonDeserializer()) as consumer:
        with pytest.raises(DeserializationError, match="JSONDecodeError") as caught:
            consumer.poll(5)
        by_poll = caught.value.record
        with pytest.raises(DeserializationError) as caught:
            next(consumer)
        assert caught.value.record == by_poll
        consumer.seek(caught.value.topic_partition, caught.value.offset + 1)
        assert next(consumer).value == {}

    assert (by_poll.topic, by_poll.partition, by_poll.offset) == (topic, 0, 0)
    assert (by_poll.key, by_poll.value, by_poll.headers) == (b"k", b"{", (("h", b"1"),))
    assert by_poll.timestamp == 5_000


def test_a_serialization_error_names_the_topic_and_the_type(cluster, topic):
    with (
        Producer(cluster.bootstrap, key_serializer=StringSerializer()) as producer,
        pytest.raises(SerializationError) as caught,
    ):
        producer.send(topic, b"value", 5)

    assert caught.value.topic == topic
    assert "key_serializer" in str(caught.value)
    assert "takes str, not int" in str(caught.value)


def test_a_value_deserializer_must_be_callable(cluster):
    with pytest.raises(ConfigurationError, match="value_deserializer must be a callable"):
        Consumer(cluster.bootstrap, value_deserializer=5)


def test_records_become_arrow_tables(cluster, topic):
    produce(cluster, topic, 30)

    with reader(cluster, topic) as consumer:
        rows = []
        while len(rows) < 30:
            rows += consumer.poll(5, max_records=1000).to_arrow(["partition", "value"]).to_pylist()

    assert sorted((row["partition"], int(row["value"])) for row in rows) == sorted(
        (n % 3, n) for n in range(30)
    )


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda consumer: consumer.seek(("a", 0), 1), StateError, "not assigned"),
        (lambda consumer: consumer.commit(), StateError, "without a group"),
        (
            lambda consumer: consumer.poll(max_records=0),
            ValueError,
            "max_records must be 1 or more",
        ),
    ],
    ids=["seek without an assignment", "commit without a group", "poll for no records"],
)
def test_misuse_of_a_consumer_without_an_assignment_raises(cluster, call, error, words):
    with reader(cluster) as consumer, pytest.raises(error, match=words):
        call(consumer)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda consumer, topic: consumer.subscribe([topic]), StateError, "call unsubscribe"),
        (lambda consumer, topic: consumer.seek((topic, 0), -1), ValueError, "must be 0 or more"),
    ],
    ids=["subscribe", "seek below 0"],
)
def test_misuse_of_a_consumer_with_an_assignment_raises(cluster, topic, call, error, words):
    with reader(cluster) as consumer:
        consumer.assign([(topic, 0)])

        with pytest.raises(error, match=words):
            call(consumer, topic)


@pytest.mark.parametrize("for_ever", [1e10, sys.maxsize])
def test_timeouts_that_mean_for_ever_are_accepted_by_all_calls(cluster, topic, for_ever):
    produce(cluster, topic, 1)
    consumer = Consumer(cluster.bootstrap, auto_offset_reset="earliest")
    consumer.subscribe([topic])

    assert len(consumer.poll(timeout=for_ever)) == 1
    consumer.close(timeout=for_ever)


def test_polling_a_closed_consumer_raises(cluster):
    with reader(cluster) as consumer:
        pass

    with pytest.raises(ClosedError):
        consumer.poll()


def test_the_next_records_are_fetched_while_the_application_works(cluster, topic):
    with reader(cluster, topic) as consumer:
        for number in range(20):
            produce(cluster, topic, 1)
            assert read(consumer, 1), number

            produce(cluster, topic, 1)

            # The application makes no call while it works on the previous record.
            eventually(lambda: consumer._core.buffer.buffered_bytes > 0)
            read(consumer, 1)
