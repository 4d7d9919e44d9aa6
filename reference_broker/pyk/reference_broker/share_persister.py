"""The way from a broker to the share coordinators, which keep the state of share groups.

    persister = services.share_persister         # one for each broker

    persister.read(key, leader_epoch)                        -> Deferred[PartitionResult]
    persister.write(key, PartitionData(state_epoch=…, …))
    persister.initialize(key, state_epoch, start_offset)
    persister.delete(key)
    persister.summarize(key, leader_epoch)

``key`` is a :class:`SharePartitionKey` (group id, topic id, partition). The result is the
``PartitionResult`` of the call's message (``read`` of ReadShareGroupState, and so on):
``error_code`` is 0, or why the coordinator refused. It comes always, unless the caller abandons it.
The calls about one share partition are carried out one after the other.

The coordinator of a share partition is the leader of its partition of ``__share_group_state``. It
is asked over the wire, this broker included. While one request to a broker is in flight, those that
follow wait, and go together in the next: one request for each group. A coordinator that has moved,
is loading, or cannot be reached is asked again a little later, by the metadata as they are then, up
to :data:`MAX_ATTEMPTS` times; then the result has the last error. The first request creates the
topic.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)
from pyk.protocol.messages.find_coordinator import FindCoordinatorRequest
from pyk.runtime import slotted
from pyk.runtime.timers import Moment, TimerQueue

from .broker_channels import BrokerChannels
from .controller.image import MetadataImage
from .controller.names import SHARE_GROUP_STATE_TOPIC
from .coordinator.shards import partition_for
from .coordinator.share.kind import SHARE_KEY_TYPE
from .coordinator.share.share_partition import SharePartitionKey
from .deferred import Deferred

log = logging.getLogger(__name__)

RETRY_MS = 50
MAX_RETRY_MS = 1_000
MAX_ATTEMPTS = 30

_RETRIABLE = frozenset(
    {
        ErrorCode.BROKER_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.NOT_COORDINATOR,
    }
)


@slotted.frozen(kw_only=True, eq=False)
class _Api:
    """The structs of one of the five requests."""

    new_request: Callable[..., Any]
    new_topic: Callable[..., Any]
    new_result: Callable[..., Any]


_READ = _Api(
    new_request=read_share_group_state.ReadShareGroupStateRequest,
    new_topic=read_share_group_state.ReadStateData,
    new_result=read_share_group_state.PartitionResult,
)
_WRITE = _Api(
    new_request=write_share_group_state.WriteShareGroupStateRequest,
    new_topic=write_share_group_state.WriteStateData,
    new_result=write_share_group_state.PartitionResult,
)
_INITIALIZE = _Api(
    new_request=initialize_share_group_state.InitializeShareGroupStateRequest,
    new_topic=initialize_share_group_state.InitializeStateData,
    new_result=initialize_share_group_state.PartitionResult,
)
_DELETE = _Api(
    new_request=delete_share_group_state.DeleteShareGroupStateRequest,
    new_topic=delete_share_group_state.DeleteStateData,
    new_result=delete_share_group_state.PartitionResult,
)
_SUMMARIZE = _Api(
    new_request=read_share_group_state_summary.ReadShareGroupStateSummaryRequest,
    new_topic=read_share_group_state_summary.ReadStateSummaryData,
    new_result=read_share_group_state_summary.PartitionResult,
)


@slotted.define(eq=False)
class _Call:
    """What is asked about one share partition, and how often it was."""

    api: _Api
    key: SharePartitionKey
    asked: Any
    result: Deferred[Any]
    attempts: int = 0
    error: ErrorCode = ErrorCode.COORDINATOR_NOT_AVAILABLE
    """Why the last attempt failed."""


class SharePersister:
    """Asks the coordinators of share partitions; belongs to the event loop of its broker."""

    def __init__(
        self,
        channels: BrokerChannels,
        image: MetadataImage,
        timers: TimerQueue,
        moment: Callable[[], Moment],
    ) -> None:
        self._channels = channels
        self._image = image
        self._timers = timers
        self._moment = moment
        self._queues: dict[SharePartitionKey, deque[_Call]] = {}
        self._lanes: dict[tuple[int, _Api], _Lane] = {}
        self._last_timer = 0

    def read(
        self, key: SharePartitionKey, leader_epoch: int
    ) -> Deferred[read_share_group_state.PartitionResult]:
        """Return the state, for the leader in an epoch."""
        asked = read_share_group_state.PartitionData(
            partition=key.partition, leader_epoch=leader_epoch
        )
        return self._ask(_READ, key, asked)

    def write(
        self, key: SharePartitionKey, change: write_share_group_state.PartitionData
    ) -> Deferred[write_share_group_state.PartitionResult]:
        """Keep a change; its ``partition`` need not be set."""
        change.partition = key.partition
        return self._ask(_WRITE, key, change)

    def initialize(
        self, key: SharePartitionKey, state_epoch: int, start_offset: int
    ) -> Deferred[initialize_share_group_state.PartitionResult]:
        """Begin the state; a start offset of -1 leaves it to the configuration of the group."""
        asked = initialize_share_group_state.PartitionData(
            partition=key.partition, state_epoch=state_epoch, start_offset=start_offset
        )
        return self._ask(_INITIALIZE, key, asked)

    def delete(self, key: SharePartitionKey) -> Deferred[delete_share_group_state.PartitionResult]:
        """Forget the state."""
        asked = delete_share_group_state.PartitionData(partition=key.partition)
        return self._ask(_DELETE, key, asked)

    def summarize(
        self, key: SharePartitionKey, leader_epoch: int = -1
    ) -> Deferred[read_share_group_state_summary.PartitionResult]:
        """Return where the group is in the partition."""
        asked = read_share_group_state_summary.PartitionData(
            partition=key.partition, leader_epoch=leader_epoch
        )
        return self._ask(_SUMMARIZE, key, asked)

    def _ask(self, api: _Api, key: SharePartitionKey, asked: Any) -> Deferred[Any]:
        call = _Call(api, key, asked, Deferred())
        queue = self._queues.setdefault(key, deque())
        queue.append(call)
        call.result.when_done(lambda _: self._begin_next(key))
        call.result.when_abandoned(lambda: self._begin_next(key))
        if len(queue) == 1:
            self._send(call)
        return call.result

    def _begin_next(self, key: SharePartitionKey) -> None:
        """Begin the first call that is not done: a retry must not overtake those after it."""
        queue = self._queues[key]
        while queue and queue[0].result.is_done:
            queue.popleft()
        if not queue:
            del self._queues[key]
        elif not queue[0].attempts:
            self._send(queue[0])

    def _send(self, call: _Call) -> None:
        if call.result.is_done:
            return
        if call.attempts == MAX_ATTEMPTS:
            log.warning("Gave up asking the coordinator of %s: %s", call.key, call.error.name)
            call.result.complete(
                call.api.new_result(
                    partition=call.key.partition,
                    error_code=call.error,
                    error_message=f"the share coordinator of {call.key} could not be asked",
                )
            )
            return
        call.attempts += 1
        if SHARE_GROUP_STATE_TOPIC not in self._image.topics:
            self._create_topic(call)
            return
        leader = self._leader_of(call.key)
        if leader is None:
            self._send_later(call, ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        lane = self._lanes.setdefault((leader, call.api), _Lane())
        lane.waiting.append(call)
        if not lane.in_flight:
            self._drain(leader, lane)

    def _leader_of(self, key: SharePartitionKey) -> int | None:
        partitions = self._image.topics[SHARE_GROUP_STATE_TOPIC].partitions
        leader = partitions[partition_for(str(key), len(partitions))].leader
        return leader if leader in self._image.brokers else None

    def _create_topic(self, call: _Call) -> None:
        """Look for the coordinator at any broker, which creates the topic."""
        request = FindCoordinatorRequest(key_type=SHARE_KEY_TYPE, coordinator_keys=[str(call.key)])
        node_id = next(iter(self._image.brokers), None)
        if node_id is None:
            self._send_later(call, ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        found: Deferred[Any] = self._channels.send(node_id, request)
        found.when_done(lambda _: self._topic_created(call))

    def _topic_created(self, call: _Call) -> None:
        if SHARE_GROUP_STATE_TOPIC in self._image.topics:
            self._send(call)
        else:
            self._send_later(call, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def _send_later(self, call: _Call, error: ErrorCode) -> None:
        call.error = error
        self._last_timer += 1
        delay_ms = min(MAX_RETRY_MS, RETRY_MS << call.attempts - 1)
        deadline = self._moment().after(delay_ms)
        self._timers.schedule((self, self._last_timer), deadline, lambda _: self._send(call))

    # -- one request in flight, the others together ------------------------------------------------

    def _drain(self, leader: int, lane: _Lane) -> None:
        calls = [call for call in lane.waiting if not call.result.is_done]
        lane.waiting = []
        for together in _by_group(calls):
            lane.in_flight += 1
            response: Deferred[Any] = self._channels.send(leader, _request_for(together))
            response.when_done(partial(self._answered, leader, lane, together))

    def _answered(self, leader: int, lane: _Lane, calls: list[_Call], response: Any) -> None:
        results = {} if isinstance(response, ErrorCode) else _results_of(response)
        lost = response if isinstance(response, ErrorCode) else ErrorCode.UNKNOWN_SERVER_ERROR
        lane.in_flight -= 1
        for call in calls:
            result = results.get((call.key.topic_id, call.key.partition))
            if result is None:
                result = call.api.new_result(partition=call.key.partition, error_code=lost)
            code = ErrorCode(result.error_code)
            if code in _RETRIABLE:
                self._send_later(call, code)
            else:
                call.result.complete(result)
        if not lane.in_flight:
            self._drain(leader, lane)


@slotted.define(eq=False)
class _Lane:
    """The requests of one kind to one broker."""

    in_flight: int = 0
    waiting: list[_Call] = slotted.field(factory=list)


def _by_group(calls: Iterable[_Call]) -> Iterable[list[_Call]]:
    groups: dict[str, list[_Call]] = {}
    for call in calls:
        groups.setdefault(call.key.group_id, []).append(call)
    return groups.values()


def _request_for(calls: list[_Call]) -> Any:
    api = calls[0].api
    topics: dict[UUID, Any] = {}
    for call in calls:
        topic_id = call.key.topic_id
        if topic_id not in topics:
            topics[topic_id] = api.new_topic(topic_id=topic_id)
        topics[topic_id].partitions.append(call.asked)
    return api.new_request(group_id=calls[0].key.group_id, topics=list(topics.values()))


def _results_of(response: Any) -> dict[tuple[UUID, int], Any]:
    return {
        (topic.topic_id, result.partition): result
        for topic in response.results
        for result in topic.partitions
    }
