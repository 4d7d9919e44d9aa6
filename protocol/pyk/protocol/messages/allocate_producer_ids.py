"""AllocateProducerIds: hand out producer ids in blocks (KIP-730)."""

from __future__ import annotations

from pyk.protocol.schema import ApiKey, Message, int16, int32, int64, request, response


@request(ApiKey.ALLOCATE_PRODUCER_IDS, versions="0", flexible="0+")
class AllocateProducerIdsRequest(Message):
    """Ask the controller for a block of producer ids.

    A broker sends it when it has given its last ones to producers, by InitProducerId.
    """

    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    """The epoch of the broker's registration; an older one is refused."""


@response(ApiKey.ALLOCATE_PRODUCER_IDS, versions="0", flexible="0+")
class AllocateProducerIdsResponse(Message):
    """Give a block of ids that no other broker has."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    producer_id_start: int = int64()
    producer_id_len: int = int32()
    """How many ids there are from ``producer_id_start`` on."""
