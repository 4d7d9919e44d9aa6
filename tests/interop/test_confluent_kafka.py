"""confluent-kafka (librdkafka) with the reference broker."""

from __future__ import annotations

import threading
from typing import Any

import pytest

pytestmark = pytest.mark.conformance

confluent_kafka = pytest.importorskip("confluent_kafka")
admin = pytest.importorskip("confluent_kafka.admin")

VALUES = [b"%d" % number for number in range(1000)]


def create(bootstrap: str, topic: str, partitions: int = 4) -> None:
    client = admin.AdminClient({"bootstrap.servers": bootstrap})
    new = admin.NewTopic(topic, num_partitions=partitions)
    client.create_topics([new])[topic].result(10)


def produce(bootstrap: str, topic: str, **config: Any) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, **config})
    errors = []
    for value in VALUES:
        producer.produce(
            topic,
            value,
            value,
            on_delivery=lambda error, _: errors.append(error) if error else None,
        )
    assert producer.flush(20) == 0
    assert errors == []


def consume(bootstrap: str, topic: str, group: str, members: int = 1, **config: Any) -> list[bytes]:
    """Read all values of the topic as a group of so many members."""
    found: list[bytes] = []
    lock, done = threading.Lock(), threading.Event()

    def run() -> None:
        consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "auto.offset.reset": "earliest",
                **config,
            }
        )
        consumer.subscribe([topic])
        while not done.is_set():
            for message in consumer.consume(100, 0.1):
                assert message.error() is None, message.error()
                with lock:
                    found.append(message.value())
                    if len(found) >= len(VALUES):
                        done.set()
        consumer.close()

    threads = [threading.Thread(target=run) for _ in range(members)]
    for thread in threads:
        thread.start()
    done.wait(20)
    done.set()
    for thread in threads:
        thread.join()
    return found


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_of_every_codec_are_produced_and_consumed(bootstrap: str, codec: str) -> None:
    topic = f"confluent-{codec}"
    create(bootstrap, topic)

    produce(bootstrap, topic, **{"compression.type": codec, "linger.ms": 20})

    assert sorted(consume(bootstrap, topic, topic)) == sorted(VALUES)


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
def test_the_members_of_a_group_share_a_topic(bootstrap: str, strategy: str) -> None:
    topic = f"confluent-group-{strategy}"
    create(bootstrap, topic)
    produce(bootstrap, topic, **{"enable.idempotence": True})

    found = consume(
        bootstrap, topic, topic, members=3, **{"partition.assignment.strategy": strategy}
    )

    assert sorted(set(found)) == sorted(VALUES)


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_the_coordinator_assigns_a_topic_to_the_members_of_a_group(
    bootstrap: str, assignor: str
) -> None:
    topic = f"confluent-assigned-{assignor}"
    create(bootstrap, topic)
    produce(bootstrap, topic)
    config = {"group.protocol": "consumer", "group.remote.assignor": assignor}

    found = consume(bootstrap, topic, topic, members=3, **config)

    assert sorted(set(found)) == sorted(VALUES)


def test_a_static_member_joins_again_with_the_same_instance_id(bootstrap: str) -> None:
    create(bootstrap, "confluent-static")
    produce(bootstrap, "confluent-static")
    config = {"group.instance.id": "one", "enable.auto.commit": False}

    for _ in range(2):
        found = consume(bootstrap, "confluent-static", "confluent-static", **config)
        assert sorted(found) == sorted(VALUES)


def test_committed_offsets_are_kept(bootstrap: str) -> None:
    create(bootstrap, "confluent-commits", partitions=1)
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "confluent-commits"}
    )
    partition = confluent_kafka.TopicPartition("confluent-commits", 0, 7)

    consumer.commit(offsets=[partition], asynchronous=False)

    assert consumer.committed([partition], timeout=10)[0].offset == 7
    consumer.close()


def test_topics_and_configurations_are_administered(bootstrap: str) -> None:
    client = admin.AdminClient({"bootstrap.servers": bootstrap})
    create(bootstrap, "confluent-admin", partitions=2)
    resource = admin.ConfigResource("topic", "confluent-admin")

    client.create_partitions([admin.NewPartitions("confluent-admin", 5)])["confluent-admin"].result(
        10
    )
    resource.add_incremental_config(
        admin.ConfigEntry("retention.ms", "1000", incremental_operation=admin.AlterConfigOpType.SET)
    )
    client.incremental_alter_configs([resource])[resource].result(10)

    assert len(client.list_topics(timeout=10).topics["confluent-admin"].partitions) == 5
    configs = client.describe_configs([resource])[resource].result(10)
    assert configs["retention.ms"].value == "1000"
    client.delete_topics(["confluent-admin"])["confluent-admin"].result(10)
    assert "confluent-admin" not in client.list_topics(timeout=10).topics


def test_groups_are_described_listed_and_deleted(bootstrap: str) -> None:
    create(bootstrap, "confluent-groups")
    produce(bootstrap, "confluent-groups")
    consume(bootstrap, "confluent-groups", "confluent-groups")
    client = admin.AdminClient({"bootstrap.servers": bootstrap})

    listed = client.list_consumer_groups().result(10).valid
    described = client.describe_consumer_groups(["confluent-groups"])["confluent-groups"].result(10)

    assert "confluent-groups" in {group.group_id for group in listed}
    assert described.state == confluent_kafka.ConsumerGroupState.EMPTY
    client.delete_consumer_groups(["confluent-groups"])["confluent-groups"].result(10)
