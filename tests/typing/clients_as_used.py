"""How programs use the clients. Lines that end in ``# wrong`` must not pass the type checker."""

from __future__ import annotations

from pyk.clients import (
    Admin,
    AsyncAdmin,
    ConfigResource,
    Consumer,
    KafkaError,
    NewTopic,
    OffsetAndMetadata,
    OffsetSpec,
    Producer,
    TopicAlreadyExistsError,
    TopicPartition,
)


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
    return {name: topic.partition_count for name, topic in admin.list_topics().items()}


async def administer_async() -> None:
    async with AsyncAdmin("localhost:9092", request_timeout_ms=1_000) as admin:
        names: list[str] = sorted(await admin.list_topics())
        print(names)
        admin.list_topics().items()  # wrong


Admin("localhost:9092", linger_ms=5)  # wrong
Admin(["a:1", "b:2"], request_timeout_ms="5")  # wrong
Producer("localhost:9092", acks="all", linger_ms=5, compression_type="zstd")
Producer("localhost:9092", acks=2)  # wrong
Producer("localhost:9092", compression_type="brotli")  # wrong
Producer("localhost:9092", group_id="group")  # wrong
Consumer("localhost:9092", group_id="group", auto_offset_reset="earliest")
Consumer("localhost:9092", group_id="group", check_crcs=False)  # wrong
