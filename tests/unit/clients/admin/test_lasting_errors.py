"""Errors that other calls retry, and that a call of the admin client raises at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pyk.clients import ElectionType, TopicPartitionReplica
from pyk.clients.errors import (
    EligibleLeadersNotAvailableError,
    KafkaError,
    KafkaStorageError,
    NotLeaderOrFollowerError,
    PreferredLeaderNotAvailableError,
    ReplicaNotAvailableError,
)
from pyk.protocol.messages import alter_replica_log_dirs as moves
from pyk.protocol.messages import describe_producers as producers
from pyk.protocol.messages import elect_leaders as elections
from pyk.protocol.schema import Message
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.administering import ORDERS, administered

REPLICA = TopicPartitionReplica("orders", 0, 1)


def not_elected(code: int) -> Message:
    partition = elections.PartitionResult(partition_id=0, error_code=code, error_message=None)
    topic = elections.ReplicaElectionResult(topic="orders", partition_result=[partition])
    return elections.ElectLeadersResponse(replica_election_results=[topic])


def not_moved(code: int) -> Message:
    partition = moves.AlterReplicaLogDirPartitionResult(partition_index=0, error_code=code)
    topic = moves.AlterReplicaLogDirTopicResult(topic_name="orders", partitions=[partition])
    return moves.AlterReplicaLogDirsResponse(results=[topic])


def not_described(code: int) -> Message:
    partition = producers.PartitionResponse(partition_index=0, error_code=code, error_message=None)
    topic = producers.TopicResponse(name="orders", partitions=[partition])
    return producers.DescribeProducersResponse(topics=[topic])


CASES: list[tuple[type[KafkaError], Any, Any, Callable[[Any], Awaitable[Any]]]] = [
    (
        PreferredLeaderNotAvailableError,
        elections.ElectLeadersRequest,
        not_elected,
        lambda a: a.elect_leaders(ElectionType.PREFERRED, [ORDERS]),
    ),
    (
        EligibleLeadersNotAvailableError,
        elections.ElectLeadersRequest,
        not_elected,
        lambda a: a.elect_leaders(ElectionType.UNCLEAN, [ORDERS]),
    ),
    (
        ReplicaNotAvailableError,
        moves.AlterReplicaLogDirsRequest,
        not_moved,
        lambda a: a.alter_replica_log_dirs({REPLICA: "/disk2"}),
    ),
    (
        KafkaStorageError,
        moves.AlterReplicaLogDirsRequest,
        not_moved,
        lambda a: a.alter_replica_log_dirs({REPLICA: "/disk2"}),
    ),
    (
        NotLeaderOrFollowerError,
        producers.DescribeProducersRequest,
        not_described,
        lambda a: a.describe_producers([ORDERS], broker_id=1),
    ),
]


@pytest.mark.parametrize(
    ("error", "request_class", "answer", "call"), CASES, ids=[one[0].__name__ for one in CASES]
)
@virtual_time
async def test_an_error_that_no_retry_ends_is_raised_at_once(
    error: type[KafkaError], request_class: Any, answer: Any, call: Any
) -> None:
    async with administered() as (cluster, admin):
        cluster.on(request_class, answer(error.code))
        began = current_clock().now()

        with pytest.raises(error):
            await call(admin)

        assert error.retriable  # by others
        assert len(cluster.requests(request_class)) == 1
        assert current_clock().now() - began < 1
