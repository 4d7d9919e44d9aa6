"""AlterPartition: change the in-sync replicas of partitions (KIP-497)."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    int8,
    int16,
    int32,
    int64,
    request,
    response,
    string,
    struct,
    uuid,
)


@struct
class BrokerState(Struct):
    """An in-sync replica, with the registration of its broker that the leader has seen."""

    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)


@struct
class RequestPartitionData(Struct):
    """The in-sync replicas that the leader proposes."""

    partition_index: int = int32()
    leader_epoch: int = int32()
    new_isr: list[int] = array(int32, versions="0-2")
    new_isr_with_epochs: list[BrokerState] = array(BrokerState, versions="3+")
    """The same; the controller refuses a broker that has restarted meanwhile (KIP-903)."""
    leader_recovery_state: int = int8(versions="1+")
    """1 while the leader recovers from an unclean election, otherwise 0 (KIP-704)."""
    partition_epoch: int = int32()
    """As the leader knows it; the change is refused if another one came first."""


@struct
class RequestTopicData(Struct):
    """Partitions of one topic."""

    topic_name: str = string(versions="0-1", ignorable=True)
    topic_id: UUID = uuid(versions="2+", ignorable=True)
    partitions: list[RequestPartitionData] = array(RequestPartitionData)


@request(ApiKey.ALTER_PARTITION, versions="0-3", flexible="0+")
class AlterPartitionRequest(Message):
    """Ask the controller to accept what leaders see: followers that fell behind or caught up."""

    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    topics: list[RequestTopicData] = array(RequestTopicData)


@struct
class ResponsePartitionData(Struct):
    """The state of a partition after the request."""

    partition_index: int = int32()
    error_code: int = int16()
    leader_id: int = int32()
    leader_epoch: int = int32()
    isr: list[int] = array(int32)
    leader_recovery_state: int = int8(versions="1+", ignorable=True)
    partition_epoch: int = int32()


@struct
class ResponseTopicData(Struct):
    """The state of partitions of one topic."""

    topic_name: str = string(versions="0-1", ignorable=True)
    topic_id: UUID = uuid(versions="2+", ignorable=True)
    partitions: list[ResponsePartitionData] = array(ResponsePartitionData)


@response(ApiKey.ALTER_PARTITION, versions="0-3", flexible="0+")
class AlterPartitionResponse(Message):
    """Give leaders the state of their partitions, changed or not."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    topics: list[ResponseTopicData] = array(ResponseTopicData)
