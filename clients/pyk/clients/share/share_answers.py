"""What leaders answer, besides the outcome of acknowledgements: records, errors, new leaders."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable
from uuid import UUID

from pyk.clients.config import ShareConsumerConfig
from pyk.clients.consumer.buffer.read_buffer import EVENT
from pyk.clients.consumer.group.modern.assignment import Owned, TopicIdPartition
from pyk.clients.engine.client import Client
from pyk.clients.errors import KafkaError, error_for
from pyk.clients.share.acquired_records import AcquiredRecords, disjoint
from pyk.clients.share.acquisitions import Acquisitions
from pyk.clients.share.share_buffer import ShareBuffer
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.share_acknowledge import ShareAcknowledgeResponse
from pyk.protocol.messages.share_fetch import PartitionData, ShareFetchResponse
from pyk.protocol.records.cursor import FetchedRecords

log = logging.getLogger(__name__)

# Seconds until an error that needs a change, such as an ACL, is raised again.
ERROR_INTERVAL = 1.0
# An offset that no record can have.
LAST_OFFSET = 2**63 - 1


class ShareAnswers:
    """Puts acquired records into the buffer, and keeps errors for the application.

    ``give_back`` releases what is not assigned any more; ``look`` makes all leaders look at what
    is due.
    """

    def __init__(
        self,
        client: Client,
        config: ShareConsumerConfig,
        buffer: ShareBuffer,
        give_back: Callable[[Iterable[AcquiredRecords]], None],
        look: Callable[[], None],
    ) -> None:
        self.lock_timeout_ms: int | None = None
        self.acquisitions = Acquisitions()
        self.errors: deque[KafkaError] = deque()
        """Errors for the application."""
        self._client = client
        self._config = config
        self._buffer = buffer
        self._now = client.clock.now
        self._assigned: Owned = frozenset()
        self._give_back = give_back
        self._look = look
        self._told_at: dict[object, float] = {}
        self._names: dict[UUID, str] = {}
        """The names of all topics that were assigned: a response may be about a former one."""
        self._partition_errors: dict[TopicPartition, KafkaError] = {}

    def assign(self, owned: Owned) -> None:
        """Take records of these partitions from now on."""
        self._assigned = owned
        self._names.update({one.topic_id: one.topic for one in owned})
        self._partition_errors.clear()

    def fetched(self, node_id: int, response: ShareFetchResponse, sent_at: float) -> bool:
        """Take the records and the errors of a response; return whether it brought records."""
        if response.error_code:
            return False
        seconds = float("inf")
        if response.acquisition_lock_timeout_ms > 0:
            self.lock_timeout_ms = response.acquisition_lock_timeout_ms
            seconds = self.lock_timeout_ms / 1000
        leaders: dict[TopicPartition, tuple[int, int]] = {}
        has_records = False
        for topic in response.responses:
            name = self._names.get(topic.topic_id)
            for data in topic.partitions:
                if name is None:
                    continue
                partition = TopicIdPartition(topic.topic_id, name, data.partition_index)
                if data.error_code:
                    self._partition_failed(partition, data, leaders)
                    continue
                self._partition_errors.pop(partition.topic_partition, None)
                # The locks began between request and response: count from the earlier moment.
                has_records |= self._take_records(node_id, partition, data, sent_at + seconds)
        if leaders:
            self._client.metadata_keeper.update_leaders(leaders, response.node_endpoints)
        self._buffer.tell_if_waiting()
        self._look()
        return has_records

    def _take_records(
        self,
        node_id: int,
        partition: TopicIdPartition,
        data: PartitionData,
        locked_until: float,
    ) -> bool:
        ranges = disjoint(
            [
                (one.first_offset, one.last_offset, one.delivery_count)
                for one in data.acquired_records
                if one.last_offset < LAST_OFFSET
            ]
        )
        if not ranges:
            return False
        records = FetchedRecords(
            partition.topic,
            partition.number,
            data.records or b"",
            ranges[0][0],
            max_decompressed_bytes=self._config.max_decompressed_bytes,
        )
        acquired = AcquiredRecords(partition, node_id, records, ranges, locked_until)
        self.acquisitions.add(acquired, [(first, last) for first, last, _ in ranges])
        if partition in self._assigned:
            self._buffer.append(acquired)
        else:
            self._give_back([acquired])
        return True

    def _partition_failed(
        self,
        partition: TopicIdPartition,
        data: PartitionData,
        leaders: dict[TopicPartition, tuple[int, int]],
    ) -> None:
        name, code = partition.topic_partition, ErrorCode(data.error_code)
        if data.current_leader.leader_id >= 0:
            leaders[name] = (data.current_leader.leader_id, data.current_leader.leader_epoch)
        error = error_for(
            code,
            data.error_message,
            topic=name.topic,
            partition=name.partition,
            api_key=ApiKey.SHARE_FETCH,
        )
        log.debug("ShareFetch of %s: %s", name, error)
        self._partition_errors[name] = error
        self._client.metadata_keeper.request_update()
        if not error.retriable:
            self.tell(name, error)

    def tell(self, about: object, error: KafkaError) -> None:
        """Raise an error to the application, once a second while it lasts."""
        now = self._now()
        if now - self._told_at.get(about, float("-inf")) >= ERROR_INTERVAL:
            self._told_at[about] = now
            self.errors.append(error)
            self._buffer.call_attention(EVENT)

    def acknowledged(self, response: ShareAcknowledgeResponse) -> None:
        """Take the lock timeout and the leaders that came with a response."""
        if response.acquisition_lock_timeout_ms > 0:
            self.lock_timeout_ms = response.acquisition_lock_timeout_ms
        names = self._names
        leaders = {
            TopicPartition(names[topic.topic_id], one.partition_index): (
                one.current_leader.leader_id,
                one.current_leader.leader_epoch,
            )
            for topic in response.responses
            for one in topic.partitions
            if one.error_code and one.current_leader.leader_id >= 0 and topic.topic_id in names
        }
        if leaders:
            self._client.metadata_keeper.update_leaders(leaders, response.node_endpoints)

    def error_of(self, partition: TopicIdPartition) -> KafkaError | None:
        """Return why the leader of a partition refuses its records, None if it does not."""
        return self._partition_errors.get(partition.topic_partition)
