"""Change a running cluster by request: feature levels, and who leads partitions."""

from __future__ import annotations

import asyncio
from typing import Any

from pyk.clients import Admin
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from pyk.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from pyk.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from pyk.protocol.schema import Message
from support.raw_client import RawClient
from support.real_time import eventually

UPGRADE, SAFE_DOWNGRADE = 1, 2
PREFERRED = 0


def set_transaction_version(bootstrap: str, level: int) -> None:
    """Finalize a level of ``transaction.version``, up or down."""
    highest = 2
    update = FeatureUpdateKey(
        feature="transaction.version",
        max_version_level=level,
        upgrade_type=UPGRADE if level == highest else SAFE_DOWNGRADE,
    )
    response = _ask(bootstrap, UpdateFeaturesRequest(feature_updates=[update]))
    assert response.error_code == ErrorCode.NONE, response


def leaders(bootstrap: str, topic: str) -> list[int | None]:
    """Return the leader of each partition."""
    with Admin(bootstrap) as admin:
        partitions = admin.describe_topics([topic])[topic].partitions
    return [partition.leader_id for partition in partitions]


def move_leaders(bootstrap: str, topic: str) -> None:
    """Give every partition another of its replicas as the leader, and wait for that."""
    with Admin(bootstrap) as admin:
        partitions = admin.describe_topics([topic])[topic].partitions
    before = [partition.leader_id for partition in partitions]
    moved = [
        ReassignablePartition(
            partition_index=partition.partition,
            replicas=_behind(partition.leader_id, partition.replicas),
        )
        for partition in partitions
    ]
    assign = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name=topic, partitions=moved)]
    )
    assert _ask(bootstrap, assign).error_code == ErrorCode.NONE
    numbers = [partition.partition for partition in partitions]
    elect = ElectLeadersRequest(
        election_type=PREFERRED,
        topic_partitions=[TopicPartitions(topic=topic, partitions=numbers)],
    )

    def have_moved() -> bool:
        _ask(bootstrap, elect)
        pairs = zip(before, leaders(bootstrap, topic), strict=True)
        return all(now is not None and now != then for then, now in pairs)

    eventually(have_moved)


def _behind(leader: int | None, replicas: Any) -> list[int]:
    """Return the replicas with the leader as the last one."""
    return sorted(replicas, key=lambda replica: replica == leader)


def _ask(bootstrap: str, request: Message) -> Any:
    async def ask() -> Any:
        async with RawClient(bootstrap) as client:
            return await client.ask(request)

    return asyncio.run(ask())
