"""ShareFetch: acquire records for a member of a share group, and send them from their files.

The request first carries out its acknowledgements, see :mod:`.share_requests`, then reads. Both are
answered together, when the acknowledgements are stored and there are records, or ``max_wait_ms`` is
over. A request that waits is tried again whenever one of its partitions moves: a record was
appended, or became free.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.share_fetch import AcquiredRecords as ToldRecords
from pyk.protocol.messages.share_fetch import (
    LeaderIdAndEpoch,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from pyk.protocol.schema import Message
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.broker_configs import BrokerConfigs
from pyk.reference_broker.deferred import Deferred, HandlerResult
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.partition_reader import Isolation, PartitionRead
from pyk.reference_broker.share.acquisition import AcquiredRecords, AcquireRequest
from pyk.reference_broker.share.led_partition import LedSharePartition
from pyk.reference_broker.share.log_batches import aborted_ranges, batches_of, records_of, without
from pyk.reference_broker.share.sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    PartitionOfTopic,
    SessionName,
    ShareContext,
    SharedPartition,
)
from pyk.reference_broker.storage.errors import LogError, OffsetOutOfRangeError, StorageError
from pyk.reference_broker.waiting_requests import WaitingRequests
from pyk.runtime import slotted
from pyk.runtime.timers import Moment

from .context import RequestContext
from .fetch import PARTITION_BYTES, RESPONSE_BYTES
from .share_requests import (
    FIRST_VERSION_WITH_RENEWALS,
    Outcomes,
    ShareServices,
    acknowledge_all,
    check_topic,
    has_acknowledgements,
    member_of,
    tell_leaders,
)

ACQUIRE_MODES = BATCH_MODE, RECORD_MODE = 0, 1
"""In record mode a member gets no more records than it asks for (KIP-1206)."""


class ShareFetchServices(ShareServices, Protocol):
    """The services that ShareFetch uses."""

    @property
    def configs(self) -> BrokerConfigs: ...
    @property
    def waiting(self) -> WaitingRequests: ...
    def moment(self) -> Moment: ...
    def note_error(self, error: Exception) -> None: ...


def share_fetch(
    services: ShareFetchServices, request: ShareFetchRequest, context: RequestContext
) -> HandlerResult:
    """Answer when acknowledgements are stored and records were acquired, or time is over."""
    try:
        member = member_of(request)
        _check_renewal(request, context.version)
        what = _begin(services, request, context, member)
        if request.share_acquire_mode not in ACQUIRE_MODES:
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)  # as in Kafka
    except ApiError as error:
        return _refuse(services, request, error)
    is_fetch = not (request.is_renew_ack and context.version >= FIRST_VERSION_WITH_RENEWALS)
    answer = _Answer(services, request, context, what)
    if has_acknowledgements(request):
        acknowledge_all(services, request, context).when_done(answer.acknowledged, answer.response)
    else:
        answer.acknowledged({})
    answer.fetch(is_wanted=is_fetch)
    return answer.response


def _begin(
    services: ShareFetchServices,
    request: ShareFetchRequest,
    context: RequestContext,
    member: SessionName,
) -> ShareContext:
    connection = context.connection
    what = services.share.sessions.begin(
        member,
        request.share_session_epoch,
        named=[
            PartitionOfTopic(topic.topic_id, partition.partition_index)
            for topic in request.topics
            for partition in topic.partitions
        ],
        forgotten=[
            PartitionOfTopic(topic.topic_id, number)
            for topic in request.forgotten_topics_data
            for number in topic.partitions
        ],
        acknowledges=has_acknowledgements(request),
        connection_id=None if connection is None else connection.connection_id,
    )
    if request.share_session_epoch == INITIAL_EPOCH:
        services.share.watch(connection, member.group_id)
    return what


def _check_renewal(request: ShareFetchRequest, version: int) -> None:
    """Raise unless a request that renews locks fetches nothing (KIP-1222)."""
    limits = (request.max_bytes, request.min_bytes, request.max_records, request.max_wait_ms)
    if version >= FIRST_VERSION_WITH_RENEWALS and request.is_renew_ack and any(limits):
        raise ApiError(ErrorCode.INVALID_REQUEST)


def _refuse(
    services: ShareFetchServices, request: ShareFetchRequest, error: ApiError
) -> HandlerResult:
    response = ShareFetchResponse(error_code=error.code)
    if error.code is not ErrorCode.SHARE_SESSION_LIMIT_REACHED or request.max_wait_ms <= 0:
        return response
    # The client would try again at once.
    late: Deferred[Message] = Deferred()

    def answer(_: float) -> None:
        late.complete(response)

    timers = services.waiting.timers
    timers.schedule(late, services.moment().after(request.max_wait_ms), answer)
    late.when_abandoned(lambda: timers.cancel(late))
    return late


class _Answer:
    """Puts the response together from the outcomes and the records, whichever comes first."""

    def __init__(
        self,
        services: ShareFetchServices,
        request: ShareFetchRequest,
        context: RequestContext,
        what: ShareContext,
    ) -> None:
        self.response: Deferred[Message] = Deferred()
        self._services = services
        self._request = request
        self._context = context
        self._what = what
        self._outcomes: Outcomes | None = None
        self._found: list[_Found] | None = None

    def acknowledged(self, outcomes: Outcomes) -> None:
        self._outcomes = outcomes
        self._complete()

    def fetched(self, found: list[_Found]) -> None:
        self._found = found
        self._complete()

    def fetch(self, *, is_wanted: bool) -> None:
        request, services = self._request, self._services
        reader = _Reader(services, request, self._context, self._what)
        if not is_wanted or not self._what.partitions or not reader.wants_records:
            self.fetched([])
            return
        found = reader.read(is_last_try=request.max_wait_ms <= 0)
        if found is not None:
            self.fetched(found)
            return
        operation = _DelayedShareFetch(reader, self)
        deadline = services.moment().after(request.max_wait_ms)
        purgatory = services.waiting.share_fetches
        waiting = purgatory.watch(operation, reader.keys(), deadline)
        self.response.when_abandoned(lambda: purgatory.forget(waiting))

    def fail(self) -> None:
        self.response.complete(ShareFetchResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR))

    def _complete(self) -> None:
        if self._outcomes is None or self._found is None:
            return
        if self.response.is_done:
            self._give_back()  # the client is gone
            return
        member = member_of(self._request)
        if self._request.share_session_epoch == FINAL_EPOCH:
            self._services.share.close_session(member)
        settings = self._services.share.settings_of(member.group_id)
        response = ShareFetchResponse(acquisition_lock_timeout_ms=settings.lock_duration_ms)
        if self._is_within_quota():
            self._fill(response)
        else:
            self._give_back()
        tell_leaders(self._services, self._context, response, LeaderIdAndEpoch)
        self.response.complete(response)

    def _is_within_quota(self) -> bool:
        """Return whether the client may get these records now; otherwise it gets none."""
        usage = self._context.usage
        if usage is None:
            return True
        assert self._found is not None
        size = RESPONSE_BYTES + sum(PARTITION_BYTES + found.size for found in self._found)
        return not usage.fetched(size)

    def _give_back(self) -> None:
        for found in self._found or ():
            found.give_back(self._request.member_id or "")

    def _fill(self, response: ShareFetchResponse) -> None:
        assert self._found is not None
        assert self._outcomes is not None
        topics: dict[UUID, ShareFetchableTopicResponse] = {}
        outcomes = dict(self._outcomes)
        for found in self._found:
            name = found.shared.name
            data = found.data(self._services, self._request.member_id or "")
            must_have = self._what.must_have(
                found.shared, has_records=bool(found.size), has_error=bool(data.error_code)
            )
            if must_have:
                _told(topics, name).append(_with_outcome(data, outcomes.pop(name, None)))
        for name, error in outcomes.items():
            _told(topics, name).append(
                _with_outcome(PartitionData(partition_index=name.number), error)
            )
        response.responses = list(topics.values())


def _told(
    topics: dict[UUID, ShareFetchableTopicResponse], name: PartitionOfTopic
) -> list[PartitionData]:
    topic = topics.get(name.topic_id)
    if topic is None:
        topic = topics[name.topic_id] = ShareFetchableTopicResponse(topic_id=name.topic_id)
    return topic.partitions


def _with_outcome(data: PartitionData, error: ApiError | None) -> PartitionData:
    if error is not None:
        data.acknowledge_error_code, data.acknowledge_error_message = error.code, error.message
    return data


@slotted.define(eq=False)
class _Found:
    """What was found for one partition: an error, or the records that were acquired."""

    shared: SharedPartition
    error: ErrorCode = ErrorCode.NONE
    led: LedSharePartition | None = None
    read: PartitionRead | None = None
    acquired: Sequence[AcquiredRecords] = ()
    records: Any = None

    @property
    def size(self) -> int:
        return len(self.records) if self.records is not None else 0

    def give_back(self, member_id: str) -> None:
        """Undo the acquisitions: the member does not get the records."""
        if self.led is not None and self.acquired:
            self.led.give_back(member_id, self.acquired)

    def data(self, services: ShareFetchServices, member_id: str) -> PartitionData:
        """Return what is sent for the partition; an error where the disk fails."""
        number = self.shared.name.number
        data = PartitionData(partition_index=number, error_code=self.error, records=b"")
        if self.records is None:
            return data
        try:
            data.records = self.records.as_part()
        except OSError as cause:
            services.note_error(StorageError(f"cannot read {self.led}: {cause}"))
            data.error_code = ErrorCode.KAFKA_STORAGE_ERROR
            self.give_back(member_id)
            return data
        data.acquired_records = [
            ToldRecords(
                first_offset=each.first_offset,
                last_offset=each.last_offset,
                delivery_count=each.delivery_count,
            )
            for each in self.acquired
        ]
        return data


class _Reader:
    """Reads and acquires for one share fetch, as often as it takes."""

    def __init__(
        self,
        services: ShareFetchServices,
        request: ShareFetchRequest,
        context: RequestContext,
        what: ShareContext,
    ) -> None:
        self._services = services
        self._request = request
        self._context = context
        self._partitions = what.in_order(request.share_session_epoch)
        self._led: dict[PartitionOfTopic, LedSharePartition] = {}
        self._settings = services.share.settings_of(request.group_id or "")
        self._max_bytes = min(request.max_bytes, services.configs.broker.fetch_max_bytes)
        if context.usage is not None and context.usage.largest_fetch is not None:
            self._max_bytes = min(self._max_bytes, context.usage.largest_fetch)
        self._min_bytes = min(request.min_bytes, self._max_bytes)

    @property
    def wants_records(self) -> bool:
        return self._request.max_records != 0 and self._max_bytes != 0

    def keys(self) -> list[TopicPartition]:
        """Return what to watch."""
        return [
            TopicPartition(shared.topic, shared.name.number)
            for shared in self._partitions
            if shared.topic is not None
        ]

    def read(self, *, is_last_try: bool) -> list[_Found] | None:
        """Acquire records and return what was found, None if it is better to wait."""
        failed: list[_Found] = []
        ready: list[_Found] = []
        for shared in self._partitions:
            found = self._find(shared)
            if found is not None:
                (failed if found.error else ready).append(found)
        if len(failed) == len(self._partitions):
            return failed
        has_failed = self._read_logs(ready)
        if not (has_failed or is_last_try or (ready and self._is_enough(ready))):
            return None
        self._acquire(ready)
        return [*ready, *failed]

    def _find(self, shared: SharedPartition) -> _Found | None:
        """Return a partition that records may be read from, or its error; None if it must wait."""
        try:
            shared.topic = check_topic(self._services, self._context, *shared.name)
            led = self._led_partition(shared.name)
            if self._max_bytes < 0:
                raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)  # as in Kafka
        except (ApiError, LogError) as error:
            self._services.note_error(error)
            return _Found(shared, _told_code(shared, error))
        if led.failure is not None:
            return _Found(shared, led.failure.code)
        if led.state is None or not led.state.can_acquire(led.limits):
            return None
        return _Found(shared, led=led)

    def _led_partition(self, name: PartitionOfTopic) -> LedSharePartition:
        """Return a share partition, the same in each try: it may have failed to load since."""
        led = self._led.get(name)
        if led is None or (led.is_dropped and led.failure is None):
            led = self._led[name] = self._services.share.get(self._request.group_id or "", *name)
        return led

    def _read_logs(self, ready: list[_Found]) -> bool:
        """Read where records are to be acquired; return whether that failed anywhere.

        The bytes are divided evenly. The first batch that there is comes even if it is larger.
        """
        share, left, has_failed = self._max_bytes // max(1, len(ready)), self._max_bytes, False
        for found in ready:
            assert found.led is not None
            assert found.led.state is not None
            offset = found.led.state.next_fetch_offset()
            is_first = left == self._max_bytes
            try:
                found.read = found.led.partition.reader.read(
                    offset, min(share, left), self._settings.isolation, min_one_batch=is_first
                )
                left = max(0, left - found.read.records.size)
            except OffsetOutOfRangeError:
                has_failed = True
                found.led.state.log_starts_at(found.led.partition.log_start_offset)
            except LogError as error:
                has_failed, found.error = True, error.code
                self._services.note_error(error)
        return has_failed

    def _is_enough(self, ready: list[_Found]) -> bool:
        size = sum(found.read.records.size for found in ready if found.read is not None)
        return size >= self._min_bytes or (bool(size) and any(map(self._is_in_older, ready)))

    def _is_in_older(self, found: _Found) -> bool:
        """Return whether nothing will be added to the segment that was read."""
        assert found.led is not None
        assert found.led.state is not None
        if found.read is None or not found.read.records.size:
            return False
        offset = found.led.state.next_fetch_offset()
        return found.led.partition.reader.is_in_older_segment(offset, self._settings.isolation)

    def _acquire(self, ready: list[_Found]) -> None:
        left = self._request.max_records
        for found in ready:
            if found.read is None or not found.read.records.size:
                continue
            try:
                left -= self._acquire_from(found, left)
            except LogError as error:
                found.error = error.code
                self._services.note_error(error)

    def _acquire_from(self, found: _Found, max_records: int) -> int:
        """Acquire records of one partition; return how many."""
        assert found.led is not None
        assert found.led.state is not None
        assert found.read is not None
        led, state, records = found.led, found.led.state, found.read.records
        offset = state.next_fetch_offset()
        batches = batches_of(records, max(state.end_offset, offset) + max(0, max_records))
        request = AcquireRequest(
            member_id=self._request.member_id or "",
            fetch_offset=offset,
            max_records=max_records,
            batch_size=self._request.batch_size,
            is_exact=self._request.share_acquire_mode == RECORD_MODE,
            locked_until=self._services.moment().after(self._settings.lock_duration_ms),
        )
        extents = [(batch.base_offset, batch.last_offset) for batch in batches]
        ranges = []
        if self._settings.isolation is Isolation.READ_COMMITTED:
            # Before anything is acquired: the disk may fail.
            ranges = aborted_ranges(
                batches, led.partition.reader.aborted_transactions(offset, records)
            )
        acquired = led.acquire(request, extents)
        if acquired and ranges:
            state.archive_aborted(ranges)
            acquired = without(acquired, ranges)
        if not acquired:
            return 0
        found.acquired = acquired
        found.records = records_of(records, batches, acquired)
        return sum(each.last_offset - each.first_offset + 1 for each in acquired)


def _told_code(shared: SharedPartition, error: ApiError | LogError) -> ErrorCode:
    """Return the error of a partition; a topic that the session has known was deleted."""
    if error.code is ErrorCode.UNKNOWN_TOPIC_ID and shared.topic is not None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return error.code


@slotted.define(eq=False)
class _DelayedShareFetch:
    """A share fetch that waits for records."""

    reader: _Reader
    answer: _Answer

    def try_complete(self) -> bool:
        found = self.reader.read(is_last_try=False)
        if found is None:
            return False
        self.answer.fetched(found)
        return True

    def expire(self) -> None:
        self.answer.fetched(self.reader.read(is_last_try=True) or [])

    def fail(self) -> None:
        self.answer.fail()
