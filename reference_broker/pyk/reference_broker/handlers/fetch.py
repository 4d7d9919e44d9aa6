"""Fetch: send records straight from their files; wait until there are enough of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pyk.protocol.acls import AclOperation, ResourceType
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from pyk.protocol.schema import Message
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.broker_configs import BrokerConfigs
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.deferred import Deferred, HandlerResult
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.partition import Partition
from pyk.reference_broker.partition_reader import Isolation, PartitionRead
from pyk.reference_broker.replicas import Replicas
from pyk.reference_broker.storage.errors import (
    LogError,
    NotLeaderError,
    OffsetOutOfRangeError,
    StorageError,
)
from pyk.reference_broker.waiting_requests import WaitingRequests
from pyk.runtime import slotted
from pyk.runtime.timers import Moment

from .context import RequestContext
from .fetch_session import FetchContext, FetchedPartition, FetchSessions

if TYPE_CHECKING:
    from .authorization.access import Access

FIRST_VERSION_WITH_TOPIC_IDS = 13
READ_COMMITTED = 1
UNKNOWN_OFFSET = -1
RESPONSE_BYTES = 16
PARTITION_BYTES = 64
"""About the size of what a response says of a partition, besides its records."""


class FetchServices(Protocol):
    """The services that Fetch uses."""

    @property
    def image(self) -> MetadataImage: ...
    @property
    def replicas(self) -> Replicas: ...
    @property
    def configs(self) -> BrokerConfigs: ...
    @property
    def fetch_sessions(self) -> FetchSessions: ...
    @property
    def waiting(self) -> WaitingRequests: ...
    def moment(self) -> Moment: ...
    def note_error(self, error: Exception) -> None: ...


def fetch(services: FetchServices, request: FetchRequest, context: RequestContext) -> HandlerResult:
    """Return records at once if there are enough or there is an error, otherwise wait for them."""
    uses_topic_ids = context.version >= FIRST_VERSION_WITH_TOPIC_IDS
    moment = services.moment()
    try:
        what = services.fetch_sessions.begin(request, uses_topic_ids=uses_topic_ids, now=moment.now)
    except ApiError as error:
        return FetchResponse(error_code=error.code)
    reader = _Reader(services, request, what, uses_topic_ids, context)
    found = reader.read()
    if request.max_wait_ms <= 0 or not what.partitions or reader.is_enough(found):
        return reader.response(found)
    deferred: Deferred[Message] = Deferred()
    operation = _DelayedFetch(reader, found, deferred)
    deadline = moment.after(request.max_wait_ms)
    waiting = services.waiting.fetches.watch(operation, reader.keys(), deadline)
    deferred.when_abandoned(lambda: services.waiting.fetches.forget(waiting))
    return deferred


@slotted.define(eq=False)
class _Found:
    """The records that were read for a fetch, partition by partition."""

    partitions: list[tuple[FetchedPartition, PartitionData]] = slotted.field(factory=list)
    size: int = 0
    """How many bytes of records there are."""
    must_be_told: bool = False
    """Whether there is an error or a diverging epoch."""

    def add(self, fetched: FetchedPartition, data: PartitionData) -> None:
        self.partitions.append((fetched, data))
        self.size += len(data.records)
        if data.error_code or data.diverging_epoch.epoch >= 0:
            self.must_be_told = True


class _Reader:
    """Reads the partitions of one fetch, as often as it takes."""

    def __init__(
        self,
        services: FetchServices,
        request: FetchRequest,
        what: FetchContext,
        uses_topic_ids: bool,
        context: RequestContext,
    ) -> None:
        self._services = services
        self._access = context.access
        self._request = request
        self._what = what
        self._uses_topic_ids = uses_topic_ids
        self._usage = context.usage
        self._max_bytes = self._largest_response(services.configs.broker.fetch_max_bytes)
        # Kafka does not wait for more than it would send.
        self._min_bytes = min(request.min_bytes, self._max_bytes)
        self._is_replica = max(request.replica_id, request.replica_state.replica_id) >= 0
        is_committed = request.isolation_level == READ_COMMITTED
        self._isolation = Isolation.READ_COMMITTED if is_committed else Isolation.READ_UNCOMMITTED

    def _largest_response(self, limit: int) -> int:
        largest = min(self._request.max_bytes, limit)
        if self._usage is None:
            return largest
        # A larger response would always exceed the quota, and never be sent.
        allowed = self._usage.largest_fetch
        return largest if allowed is None else min(largest, allowed)

    def keys(self) -> list[TopicPartition]:
        """Return what to watch: the partitions that were read."""
        return [
            fetched.partition.topic_partition
            for fetched in self._what.partitions
            if fetched.partition is not None
        ]

    def read(self) -> _Found:
        """Read all partitions in turn until the response is full.

        The first batch of the first partition that has any is given even if it exceeds all limits,
        so that a reader always makes progress (KIP-74).
        """
        found = _Found()
        for fetched in self._what.partitions:
            left = max(0, self._max_bytes - found.size)
            data = self._read_partition(fetched, left, min_one_batch=not found.size)
            found.add(fetched, data)
        return found

    def _read_partition(
        self, fetched: FetchedPartition, left: int, *, min_one_batch: bool
    ) -> PartitionData:
        asked = fetched.asked
        partition: Partition | None = None
        try:
            partition = self._find(fetched)
            diverging = _diverging_epoch(partition, asked)
            if diverging is not None:
                data = self._data(asked, partition)
                data.diverging_epoch = diverging
                return data
            read = partition.reader.read(
                asked.fetch_offset,
                min(asked.partition_max_bytes, left),
                self._isolation,
                current_leader_epoch=asked.current_leader_epoch,
                min_one_batch=min_one_batch,
            )
            data = self._data(asked, read)
            if read.records.size:
                data.records = read.records
                if self._isolation is Isolation.READ_COMMITTED:
                    data.aborted_transactions = _aborted_transactions(partition, asked, read)
        except (ApiError, LogError) as error:
            self._services.note_error(error)
            return _failed(asked, error, partition)
        return data

    def _find(self, fetched: FetchedPartition) -> Partition:
        """Return the partition that is read; raise :class:`ApiError` if this broker has none."""
        if self._access is not None:
            self._check_access(fetched, self._access)
        if self._is_replica:
            # No replica but this one is assigned to any partition.
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        partition = fetched.partition
        if partition is None or not partition.is_leader:
            fetched.partition = None
            name = self._topic_name(fetched)
            partition = self._services.replicas.get(name, fetched.asked.partition)
            fetched.partition = partition
        return partition

    def _check_access(self, fetched: FetchedPartition, access: Access) -> None:
        """Raise unless the client may read the topic, or acts for the cluster as a replica."""
        if self._is_replica:
            may = access.may_on_cluster(AclOperation.CLUSTER_ACTION)
        else:
            may = access.may(AclOperation.READ, ResourceType.TOPIC, self._topic_name(fetched))
        if not may:
            raise ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)

    def _topic_name(self, fetched: FetchedPartition) -> str:
        if not self._uses_topic_ids:
            return fetched.topic
        topic = self._services.image.topics_by_id.get(fetched.topic_id)
        if topic is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
        return topic.name

    def _data(self, asked: FetchPartition, found: Partition | PartitionRead) -> PartitionData:
        is_committed = self._isolation is Isolation.READ_COMMITTED
        return PartitionData(
            partition_index=asked.partition,
            high_watermark=found.high_watermark,
            last_stable_offset=found.last_stable_offset,
            log_start_offset=found.log_start_offset,
            aborted_transactions=[] if is_committed else None,
        )

    def is_enough(self, found: _Found) -> bool:
        """Return whether there is nothing to wait for.

        That is so if there are enough bytes, or an error or a diverging epoch to report, or if a
        partition is read in a segment that nothing will be added to.
        """
        if found.must_be_told or found.size >= self._min_bytes:
            return True
        # A partition without records to read is read at its end, in its last segment.
        return bool(found.size) and any(
            self._find(fetched).reader.is_in_older_segment(
                fetched.asked.fetch_offset, self._isolation
            )
            for fetched, data in found.partitions
            if len(data.records)
        )

    def response(self, found: _Found) -> FetchResponse:
        """Return the response with the partitions that belong in it, by topic.

        It is empty if the client has used up its quota.
        """
        if self._usage is not None and self._usage.fetched(_size_of(found)):
            return FetchResponse(session_id=self._services.fetch_sessions.throttled(self._what))
        topics: dict[tuple[str, object], FetchableTopicResponse] = {}
        for fetched, located in self._what.select(found.partitions):
            data = self._with_records(fetched, located)
            key = (fetched.topic, fetched.topic_id)
            topic = topics.get(key)
            if topic is None:
                topic = FetchableTopicResponse(topic=fetched.topic, topic_id=fetched.topic_id)
                topics[key] = topic
            topic.partitions.append(data)
        return FetchResponse(session_id=self._what.session_id, responses=list(topics.values()))

    def _with_records(self, fetched: FetchedPartition, data: PartitionData) -> PartitionData:
        """Return what is sent for a partition; an error where the disk fails.

        This may run while another client's request is handled, which must not fail because of it.
        """
        try:
            data.records = data.records.as_part() if len(data.records) else b""
        except OSError as cause:
            assert fetched.partition is not None  # or there would be nothing to read
            error = StorageError(f"cannot read {fetched.partition.topic_partition}: {cause}")
            self._services.note_error(error)
            return _failed(fetched.asked, error, None)
        return data


def _size_of(found: _Found) -> int:
    """Return about how large the response is, without what the client knows already."""
    sent = sum(1 for _, data in found.partitions if len(data.records) or data.error_code)
    return RESPONSE_BYTES + sent * PARTITION_BYTES + found.size


def _aborted_transactions(
    partition: Partition, asked: FetchPartition, read: PartitionRead
) -> list[AbortedTransaction]:
    return [
        AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset)
        for each in partition.reader.aborted_transactions(asked.fetch_offset, read.records)
    ]


def _diverging_epoch(partition: Partition, asked: FetchPartition) -> EpochEndOffset | None:
    """Return where the client's log diverges from the leader's, None if it does not (KIP-595)."""
    if asked.last_fetched_epoch < 0:
        return None
    end = partition.reader.end_offset_of_epoch(
        asked.last_fetched_epoch, current_leader_epoch=asked.current_leader_epoch
    )
    if end.epoch < 0:
        raise OffsetOutOfRangeError(
            f"epoch {asked.last_fetched_epoch} is not in the log of {partition.topic_partition}"
        )
    if end.epoch < asked.last_fetched_epoch or end.start_offset < asked.fetch_offset:
        return EpochEndOffset(epoch=end.epoch, end_offset=end.start_offset)
    return None


def _failed(
    asked: FetchPartition, error: ApiError | LogError, partition: Partition | None
) -> PartitionData:
    data = PartitionData(
        partition_index=asked.partition,
        error_code=error.code,
        high_watermark=UNKNOWN_OFFSET,
        aborted_transactions=[] if partition is None else None,
    )
    if isinstance(error, NotLeaderError) and partition is not None:
        data.current_leader = LeaderIdAndEpoch(
            leader_id=partition.leader_id, leader_epoch=partition.leader_epoch
        )
    return data


@slotted.define(eq=False)
class _DelayedFetch:
    """A fetch that waits for min_bytes."""

    reader: _Reader
    found: _Found
    deferred: Deferred[Message]

    def try_complete(self) -> bool:
        self.found = self.reader.read()
        if not self.reader.is_enough(self.found):
            return False
        self.deferred.complete(self.reader.response(self.found))
        return True

    def expire(self) -> None:
        # Whatever moves a partition tries to complete the fetch, so what was found is still true.
        # But where records lie may change without that: retention deletes segments.
        if self.found.size:
            self.found = self.reader.read()
        self.deferred.complete(self.reader.response(self.found))

    def fail(self) -> None:
        self.deferred.complete(FetchResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR))
