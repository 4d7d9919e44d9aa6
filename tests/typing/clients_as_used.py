"""Programs that use the clients. The type checker must refuse the lines that end in ``# wrong``."""

from __future__ import annotations

import json
from typing import assert_type
from uuid import UUID

from pyk.clients import (
    AcknowledgeType,
    Admin,
    AsyncAdmin,
    AsyncConsumer,
    AsyncProducer,
    AsyncShareConsumer,
    ClassicGroupDescription,
    ConfigResource,
    Consumer,
    ConsumerRecord,
    GroupChange,
    KafkaError,
    NewTopic,
    OffsetAndMetadata,
    OffsetSpec,
    Producer,
    ShareConsumer,
    StringDeserializer,
    StringSerializer,
    TopicAlreadyExistsError,
    TopicDescription,
    TopicPartition,
    Until,
)
from pyk.reference_broker import AsyncCluster, Cluster


def administer(admin: Admin) -> dict[str, int]:
    try:
        admin.create_topics([NewTopic("orders", 3, configs={"retention.ms": "1000"})])
    except TopicAlreadyExistsError as error:
        code: int | None = error.code
        print(code, error.topic, error.retriable)
    except KafkaError as error:
        print(error.definite)
    admin.create_topics(["orders"])  # wrong
    admin.create_topics([NewTopic("orders", "3")])  # wrong
    settings = admin.describe_configs([ConfigResource.topic("orders")])
    print(settings[ConfigResource.topic("orders")]["retention.ms"].value)
    offsets = admin.list_offsets({TopicPartition("orders", 0): OffsetSpec.LATEST})
    print(offsets[TopicPartition("orders", 0)].offset)  # wrong
    committed: dict[TopicPartition, OffsetAndMetadata | None]
    committed = admin.list_consumer_group_offsets("group", timeout=5.0)
    print(committed)
    topic_id = UUID(int=1)
    by_id: dict[UUID, TopicDescription] = admin.describe_topics([topic_id])
    by_name: dict[str, TopicDescription] = admin.describe_topics(["orders"])
    admin.describe_topics(["orders"])[topic_id]  # wrong
    admin.delete_topics([topic_id])
    of_several = admin.list_consumer_group_offsets({"group": None})
    assert_type(of_several, dict[str, dict[TopicPartition, OffsetAndMetadata | None]])
    admin.list_consumer_group_offsets({"group": None}, [TopicPartition("orders", 0)])  # wrong
    assert_type(admin.wait_until(Until.topic_exists("orders")), TopicDescription)
    assert_type(admin.wait_until(Until.offset_is_reached(TopicPartition("orders", 0), 5)), int)
    admin.wait_until("orders")  # wrong
    changes = admin.watch_groups(types=["share"])
    assert_type(next(changes), GroupChange)
    assert_type(admin.describe_classic_groups("group"), dict[str, ClassicGroupDescription])
    admin.remove_raft_voter(1, "directory")  # wrong
    admin.reset_offsets("group", to="now")  # wrong
    print(by_id, by_name)
    return {name: topic.partition_count for name, topic in admin.list_topics().items()}


async def administer_async() -> None:
    async with AsyncAdmin("localhost:9092", request_timeout_ms=1_000) as admin:
        names: list[str] = sorted(await admin.list_topics())
        print(names)
        admin.list_topics().items()  # wrong
        async for change in admin.watch_groups():
            assert_type(change, GroupChange)
        assert_type(await admin.wait_until(Until.topic_exists("orders")), TopicDescription)


def consume(consumer: Consumer[str, dict[str, int]]) -> int:
    partition = TopicPartition("orders", 0)
    consumer.subscribe(["orders"])
    consumer.subscribe(5)  # wrong
    for record in consumer.poll(timeout=1.0, max_records=10):
        key: str = record.key
        print(key, record.value["amount"], record.headers, record.topic, record.offset)
        print(record.value + 1)  # wrong
    consumer.commit({partition: 5})
    consumer.commit({partition: "5"})  # wrong
    consumer.seek(partition, OffsetAndMetadata(7))
    lags: dict[TopicPartition, int] = consumer.lag()
    print(lags, consumer.poll().to_arrow(["key"]), consumer.health().is_healthy)
    for record in consumer:
        consumer.commit(record)
        return record.value["amount"]
    return 0


async def consume_async() -> None:
    consumer = AsyncConsumer("localhost:9092", group_id="group", topics=["orders"])
    async with consumer:
        async for record in consumer:
            print(record.offset + 1, record.value)
            await consumer.commit(record)
        batch = await consumer.poll()
        print(batch[0].offset, len(batch.of(TopicPartition("orders", 0))))
        consumer.poll().to_arrow()  # wrong
        await consumer.seek(TopicPartition("orders", 0), 5)


def share(key: str) -> int | None:
    with ShareConsumer[str, int]("localhost:9092", topics=[key], group_id="group") as consumer:
        for record in consumer.poll(0.5, max_records=10):
            consumer.acknowledge(record, AcknowledgeType.REJECT)
            consumer.acknowledge(record, 3)  # wrong
            print(record.delivery_count + 1, record.value + 1, record.key.upper())
        consumer.acknowledge_offset(("orders", 0), 5)
        for partition, ranges in consumer.commit().items():
            print(partition.topic, [offset + 1 for offsets in ranges for offset in offsets])
        consumer.process(lambda record: print(record.value + 1), concurrency=4)
        consumer.process("handler")  # wrong
        return consumer.acquisition_lock_timeout_ms()


async def share_async() -> None:
    async with AsyncShareConsumer("localhost:9092", topics=["orders"], group_id="g") as consumer:
        async for record in consumer:
            print(record.offset + 1)
            await consumer.commit()
        consumer.commit().items()  # wrong


async def enter_blocks_of_the_other_kind() -> None:
    with AsyncProducer("localhost:9092"):  # wrong
        pass
    with AsyncAdmin("localhost:9092"):  # wrong
        pass
    with AsyncCluster():  # wrong
        pass
    async with Producer("localhost:9092"):  # wrong
        pass
    async with Producer("localhost:9092").transaction():  # wrong
        pass
    async with Cluster():  # wrong
        pass
    async with AsyncCluster().faults.on("Produce"):  # wrong
        pass


def annotate(record: ConsumerRecord[str, int]) -> int:
    return record.value


Admin("localhost:9092", linger_ms=5)  # wrong
Admin(["a:1", "b:2"], request_timeout_ms="5")  # wrong
Producer("localhost:9092", acks="all", linger_ms=5, compression_type="zstd")
Producer("localhost:9092", acks=2)  # wrong
Producer("localhost:9092", key_serializer=StringSerializer(), value_serializer=json.dumps)
Producer("localhost:9092", value_serializer=StringDeserializer())  # wrong
Consumer("localhost:9092", key_deserializer=StringDeserializer(), value_deserializer=json.loads)
Consumer("localhost:9092", value_deserializer="json")  # wrong
Producer("localhost:9092", compression_type="brotli")  # wrong
Producer("localhost:9092", group_id="group")  # wrong
Consumer("localhost:9092", group_id="group", auto_offset_reset="earliest")
Consumer("localhost:9092", group_id="group", check_crcs=False)  # wrong
ShareConsumer("localhost:9092", group_id="group", share_acknowledgement_mode="explicit")
ShareConsumer("localhost:9092", group_id="group", share_acknowledgement_mode="auto")  # wrong
ShareConsumer("localhost:9092", group_id="group", auto_offset_reset="earliest")  # wrong
