"""WriteTxnMarkers: end transactions in partitions, as their coordinator has decided."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from pyk.reference_broker.broker_configs import BrokerConfigs
from pyk.reference_broker.deferred import HandlerResult
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.replicas import Replicas
from pyk.reference_broker.storage.errors import LogError
from pyk.reference_broker.waiting_requests import WaitingRequests
from pyk.runtime.timers import Moment

from .context import RequestContext
from .delayed_appends import PendingAppend, is_acknowledged, wait_for_appends


class MarkerServices(Protocol):
    """The services that WriteTxnMarkers uses."""

    @property
    def replicas(self) -> Replicas: ...
    @property
    def configs(self) -> BrokerConfigs: ...
    @property
    def waiting(self) -> WaitingRequests: ...
    def moment(self) -> Moment: ...
    def note_error(self, error: Exception) -> None: ...


def write_txn_markers(
    services: MarkerServices, request: WriteTxnMarkersRequest, context: RequestContext
) -> HandlerResult:
    """Append the markers; answer when the high watermarks have passed all of them.

    Each partition has an error of its own. The coordinator repeats what failed, so a marker may be
    appended twice.
    """
    response = WriteTxnMarkersResponse()
    pending: list[PendingAppend] = []
    for marker in request.markers:
        result = WritableTxnMarkerResult(producer_id=marker.producer_id)
        response.markers.append(result)
        for topic in marker.topics:
            answered = WritableTxnMarkerTopicResult(name=topic.name)
            result.topics.append(answered)
            for number in topic.partition_indexes:
                partition_result = WritableTxnMarkerPartitionResult(partition_index=number)
                answered.partitions.append(partition_result)
                append = _end_transaction(services, marker, topic.name, partition_result)
                pending += [] if append is None else [append]
    if not pending:
        return response
    deadline = services.moment().after(services.configs.broker.request_timeout_ms)
    return wait_for_appends(services.waiting, response, pending, deadline)


def _end_transaction(
    services: MarkerServices,
    marker: WritableTxnMarker,
    topic: str,
    result: WritableTxnMarkerPartitionResult,
) -> PendingAppend | None:
    """Append a marker to one partition; return what to wait for if it is not committed yet."""
    try:
        partition = services.replicas.get(topic, result.partition_index)
        appended = partition.end_transaction(
            marker.producer_id,
            marker.producer_epoch,
            marker.coordinator_epoch,
            marker.transaction_result,
            transaction_version=marker.transaction_version,
        )
    except (ApiError, LogError) as error:
        services.note_error(error)
        result.error_code = error.code
        return None
    next_offset = appended.last_offset + 1
    if is_acknowledged(partition, next_offset, needs_all_replicas=True):
        return None
    return PendingAppend(partition, next_offset, True, partial(_refuse, result))


def _refuse(result: WritableTxnMarkerPartitionResult, code: ErrorCode, message: str | None) -> None:
    result.error_code = code
