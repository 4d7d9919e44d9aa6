"""ControlledShutdown: a broker in ZooKeeper mode is about to stop."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    int16,
    int32,
    int64,
    request,
    response,
    string,
    struct,
)


@request(ApiKey.CONTROLLED_SHUTDOWN, versions="0-3", flexible="3+")
class ControlledShutdownRequest(Message):
    """Ask the controller to give the broker's partitions to other leaders.

    Sent until nothing remains or retries are exhausted (``controlled.shutdown.max.retries``). In
    KRaft mode heartbeats do this.
    """

    broker_id: int = int32()
    broker_epoch: int = int64(versions="2+", default=-1, ignorable=True)
    """Registration of the broker, so that it is not taken for an earlier one (KIP-380)."""


@struct
class RemainingPartition(Struct):
    """A partition that the broker still leads."""

    topic_name: str = string()
    partition_index: int = int32()


@response(ApiKey.CONTROLLED_SHUTDOWN, versions="0-3", flexible="3+")
class ControlledShutdownResponse(Message):
    """Name the partitions for which no other leader was found yet."""

    error_code: int = int16()
    remaining_partitions: list[RemainingPartition] = array(RemainingPartition)
