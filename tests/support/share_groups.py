"""Members of share groups, played by requests to the handlers of one broker."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pyk.protocol.messages.share_acknowledge import AcknowledgementBatch as SaidBatch
from pyk.protocol.messages.share_acknowledge import (
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from pyk.protocol.messages.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ForgottenTopic,
    ShareFetchRequest,
)
from pyk.protocol.records import read_batches
from pyk.reference_broker.awaiting import value_of
from pyk.reference_broker.broker import Broker
from pyk.reference_broker.coordinator.share.share_partition import SharePartitionKey
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.handlers.context import RequestContext
from pyk.reference_broker.handlers.share_acknowledge import share_acknowledge
from pyk.reference_broker.handlers.share_fetch import share_fetch
from support.running_brokers import TOPIC

GROUP = "workers"
VERSION = 2
Said = tuple[int, int, list[int]]
"""First and last offset, and the types."""


async def initialize(broker: Broker, start_offset: int = 0, partitions: int = 1) -> None:
    """Do what the group coordinator does before members get a partition."""
    topic_id = topic_id_of(broker)
    for number in range(partitions):
        key = SharePartitionKey(GROUP, topic_id, number)
        result = await value_of(broker.services.share.persister.initialize(key, 1, start_offset))
        assert result.error_code == 0


def topic_id_of(broker: Broker, topic: str = TOPIC) -> UUID:
    found = broker.services.image.topic_id(topic)
    assert found is not None
    return found


class ShareMember:
    """One member with its share session."""

    def __init__(self, broker: Broker, member_id: str = "member-1", **more: Any) -> None:
        self.broker = broker
        self.member_id = member_id
        self.epoch = 0
        self.context = RequestContext(
            version=VERSION, client_id="test", client_host="/memory", **more
        )

    def request(self, **fields: Any) -> ShareFetchRequest:
        """Return the ShareFetch with these fields."""
        asked = {
            "group_id": GROUP,
            "member_id": self.member_id,
            "share_session_epoch": self.epoch,
            "max_wait_ms": 0,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "max_records": 500,
            "batch_size": 500,
            **fields,
        }
        return ShareFetchRequest(**asked)

    def send(self, **fields: Any) -> Any:
        """Send a ShareFetch and return the result of the handler."""
        request = self.request(**fields)
        self.epoch = request.share_session_epoch + 1
        return share_fetch(self.broker.services, request, self.context)

    def topics(self, *numbers: int, said: list[Said] | None = None) -> list[FetchTopic]:
        batches = [
            AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=types)
            for first, last, types in said or []
        ]
        return [
            FetchTopic(
                topic_id=topic_id_of(self.broker),
                partitions=[
                    FetchPartition(partition_index=number, acknowledgement_batches=batches)
                    for number in numbers
                ],
            )
        ]

    async def fetch(self, *numbers: int, said: list[Said] | None = None, **fields: Any) -> Any:
        """Fetch, in the first request partition 0 or those of these ``numbers``."""
        if not numbers and (self.epoch == 0 or said is not None):
            numbers = (0,)
        if numbers:
            fields.setdefault("topics", self.topics(*numbers, said=said))
        return await answered(self.send(**fields))

    def forget(self, *numbers: int) -> list[ForgottenTopic]:
        return [ForgottenTopic(topic_id=topic_id_of(self.broker), partitions=list(numbers))]

    def acknowledgement(
        self, *said: Said, number: int = 0, **fields: Any
    ) -> ShareAcknowledgeRequest:
        """Return the ShareAcknowledge with these fields."""
        batches = [
            SaidBatch(first_offset=first, last_offset=last, acknowledge_types=types)
            for first, last, types in said
        ]
        asked = {
            "group_id": GROUP,
            "member_id": self.member_id,
            "share_session_epoch": self.epoch,
            "topics": [
                AcknowledgeTopic(
                    topic_id=topic_id_of(self.broker),
                    partitions=[
                        AcknowledgePartition(
                            partition_index=number, acknowledgement_batches=batches
                        )
                    ],
                )
            ],
            **fields,
        }
        return ShareAcknowledgeRequest(**asked)

    async def acknowledge(self, *said: Said, number: int = 0, **fields: Any) -> Any:
        """Send a ShareAcknowledge and return the response."""
        request = self.acknowledgement(*said, number=number, **fields)
        self.epoch = request.share_session_epoch + 1
        return await answered(share_acknowledge(self.broker.services, request, self.context))


async def answered(result: Any) -> Any:
    return await value_of(result) if isinstance(result, Deferred) else result


def acquired(response: Any) -> list[tuple[int, int, int]]:
    """Return what the response gives of its first partition."""
    if not response.responses:
        return []
    return [
        (each.first_offset, each.last_offset, each.delivery_count)
        for each in response.responses[0].partitions[0].acquired_records
    ]


def offsets(response: Any) -> list[int]:
    """Return the offsets of all records in a response."""
    found = []
    for topic in response.responses:
        for partition in topic.partitions:
            records = partition.records
            data = records if isinstance(records, bytes) else records.read()
            found += [record.offset for batch in read_batches(data) for record in batch]
    return found


def code(response: Any) -> int:
    """Return the error of the response, or of its first partition."""
    if response.error_code or not response.responses:
        return int(response.error_code)
    return int(response.responses[0].partitions[0].error_code)


def acknowledge_code(response: Any) -> int:
    return int(response.responses[0].partitions[0].acknowledge_error_code)
