"""Offsets that a transaction commits: from TxnOffsetCommit over the markers to OffsetFetch."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from pyk.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from pyk.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from pyk.reference_broker.controller.names import GROUP_METADATA_TOPIC
from pyk.reference_broker.coordinator.shards import partition_for
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.handlers.group_offsets import offset_fetch
from pyk.reference_broker.handlers.transaction_markers import write_txn_markers
from pyk.reference_broker.handlers.transactional_offsets import txn_offset_commit
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.virtual_time import run_virtual, virtual_time
from support.groups import offset
from support.nodes import GROUP, Node, now, running
from support.offset_models import OffsetModel
from support.running_brokers import context

PRODUCER = 7
PRODUCERS = st.integers(7, 9)
PARTITIONS = st.integers(0, 1)
OFFSETS_PARTITION = partition_for(GROUP, 2)


@asynccontextmanager
async def running_with_orders(filesystem: MemoryFileSystem) -> AsyncIterator[Node]:
    # No producer of these tests has a coordinator that could be asked about its partitions.
    async with running(filesystem, transaction_partition_verification_enable=False) as node:
        if "orders" not in node.image.topics:
            await node.create("orders", partitions=2)
            await node.create_groups_topic()
        yield node


def answer(response: Any) -> Any:
    return now(response) if isinstance(response, Deferred) else response


def commit_in_transaction(
    node: Node,
    value: int,
    *,
    topic: str = "orders",
    partition: int = 0,
    version: int = 4,
    producer_id: int = PRODUCER,
    producer_epoch: int = 0,
    **more: Any,
) -> ErrorCode:
    committed = TxnOffsetCommitRequestPartition(
        partition_index=partition, committed_offset=value, committed_metadata=None
    )
    request = TxnOffsetCommitRequest(
        transactional_id="mover",
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        topics=[TxnOffsetCommitRequestTopic(name=topic, partitions=[committed])],
        **{"group_id": GROUP, "member_id": "", **more},
    )
    response = answer(txn_offset_commit(node.broker.services, request, context(version)))
    ((result,),) = (each.partitions for each in response.topics)
    return ErrorCode(result.error_code)


def write_marker(node: Node, *, is_commit: bool, producer_id: int = PRODUCER) -> ErrorCode:
    topic = WritableTxnMarkerTopic(name=GROUP_METADATA_TOPIC, partition_indexes=[OFFSETS_PARTITION])
    marker = WritableTxnMarker(
        producer_id=producer_id, producer_epoch=0, transaction_result=is_commit, topics=[topic]
    )
    request = WriteTxnMarkersRequest(markers=[marker])
    response = answer(write_txn_markers(node.broker.services, request, context(1)))
    return ErrorCode(response.markers[0].topics[0].partitions[0].error_code)


def stable_offset(node: Node, partition: int = 0) -> int | ErrorCode:
    """Return what an OffsetFetch that requires stable offsets is answered."""
    asked = OffsetFetchRequestTopics(name="orders", partition_indexes=[partition])
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=GROUP, topics=[asked])], require_stable=True
    )
    (found,) = now(offset_fetch(node.broker.services, request, context(8))).groups
    result = found.topics[0].partitions[0]
    return ErrorCode(result.error_code) if result.error_code else int(result.committed_offset)


@virtual_time
async def test_an_offset_is_unstable_until_the_marker_and_then_counts() -> None:
    async with running_with_orders(MemoryFileSystem()) as node:
        node.commit([offset(1)])

        assert commit_in_transaction(node, 5) is ErrorCode.NONE
        assert node.committed("orders") == 1
        assert stable_offset(node) is ErrorCode.UNSTABLE_OFFSET_COMMIT
        assert stable_offset(node, partition=1) == -1

        assert write_marker(node, is_commit=True) is ErrorCode.NONE
        assert node.committed("orders") == stable_offset(node) == 5


@virtual_time
async def test_an_abort_marker_leaves_the_offset_as_it_was() -> None:
    async with running_with_orders(MemoryFileSystem()) as node:
        node.commit([offset(1)])
        commit_in_transaction(node, 5)

        write_marker(node, is_commit=False)

        assert node.committed("orders") == stable_offset(node) == 1


@pytest.mark.parametrize(("is_commit", "expected"), [(True, 5), (False, 1)])
@virtual_time
async def test_a_killed_broker_knows_open_and_ended_transactions_again(
    is_commit: bool, expected: int
) -> None:
    filesystem = MemoryFileSystem()
    async with running_with_orders(filesystem) as node:
        node.commit([offset(1)])
        commit_in_transaction(node, 5)

    async with running_with_orders(filesystem) as node:
        assert node.committed("orders") == 1
        assert stable_offset(node) is ErrorCode.UNSTABLE_OFFSET_COMMIT
        write_marker(node, is_commit=is_commit)

    async with running_with_orders(filesystem) as node:
        assert node.committed("orders") == stable_offset(node) == expected


OPERATIONS = st.one_of(
    st.tuples(st.just("commit"), PARTITIONS),
    st.tuples(st.just("commit in transaction"), PRODUCERS, PARTITIONS),
    st.tuples(st.just("end"), PRODUCERS, st.booleans()),
)


def carry_out(node: Node, model: OffsetModel, operation: tuple[Any, ...], value: int) -> None:
    match operation:
        case ("commit", partition):
            node.commit([offset(value, partition=partition)])
            model.commit(partition, value)
        case ("commit in transaction", producer_id, partition):
            commit_in_transaction(node, value, partition=partition, producer_id=producer_id)
            model.commit_in_transaction(producer_id, partition, value)
        case ("end", producer_id, is_commit):
            assert write_marker(node, is_commit=is_commit, producer_id=producer_id) == 0
            model.end_transaction(producer_id, is_commit=is_commit)


def check(node: Node, model: OffsetModel) -> None:
    for partition in (0, 1):
        committed = model.offsets.get(partition)
        stable = -1 if committed is None else committed
        if partition in model.unstable:
            stable = ErrorCode.UNSTABLE_OFFSET_COMMIT
        assert node.committed("orders", partition) == committed
        assert stable_offset(node, partition) == stable


@settings(max_examples=25)
@given(operations=st.lists(OPERATIONS, min_size=3, max_size=12))
def test_a_broker_that_is_killed_after_any_append_has_the_offsets_of_the_model(
    operations: list[tuple[Any, ...]],
) -> None:
    async def scenario() -> None:
        filesystem, model = MemoryFileSystem(), OffsetModel()
        for value, operation in enumerate(operations):
            async with running_with_orders(filesystem) as node:
                check(node, model)
                carry_out(node, model, operation, value)
                check(node, model)

    run_virtual(scenario())


@virtual_time
async def test_all_offsets_of_a_group_name_those_that_are_unstable() -> None:
    async with running_with_orders(MemoryFileSystem()) as node:
        node.commit([offset(1), offset(2, partition=1)])
        commit_in_transaction(node, 5)

        request = OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(group_id=GROUP, topics=None)], require_stable=True
        )
        (found,) = now(offset_fetch(node.broker.services, request, context(8))).groups

        unstable = ErrorCode.UNSTABLE_OFFSET_COMMIT
        (topic,) = found.topics
        assert [
            (each.partition_index, each.committed_offset, each.error_code)
            for each in topic.partitions
        ] == [(0, -1, unstable), (1, 2, ErrorCode.NONE)]


@virtual_time
async def test_versions_for_one_group_require_stable_offsets_too() -> None:
    async with running_with_orders(MemoryFileSystem()) as node:
        commit_in_transaction(node, 5)

        asked = OffsetFetchRequestTopic(name="orders", partition_indexes=[0])
        request = OffsetFetchRequest(group_id=GROUP, topics=[asked], require_stable=True)
        response = now(offset_fetch(node.broker.services, request, context(7)))

        result = response.topics[0].partitions[0]
        assert result.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT


@virtual_time
async def test_an_offset_of_a_topic_or_partition_that_does_not_exist_is_refused() -> None:
    async with running_with_orders(MemoryFileSystem()) as node:
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

        assert commit_in_transaction(node, 5, topic="payments") is unknown
        assert commit_in_transaction(node, 5, partition=9) is unknown


@virtual_time
async def test_a_commit_without_a_group_is_refused() -> None:
    async with running_with_orders(MemoryFileSystem()) as node:
        assert commit_in_transaction(node, 5, group_id="") is ErrorCode.INVALID_GROUP_ID


@virtual_time
async def test_a_commit_of_an_unknown_generation_is_refused() -> None:
    async with running_with_orders(MemoryFileSystem()) as node:
        refused = commit_in_transaction(node, 5, member_id="gone", generation_id_or_member_epoch=3)

        assert refused is ErrorCode.ILLEGAL_GENERATION


@virtual_time
async def test_a_commit_of_an_older_epoch_is_refused() -> None:
    async with running_with_orders(MemoryFileSystem()) as node:
        commit_in_transaction(node, 5, producer_epoch=1)

        refused = commit_in_transaction(node, 6, producer_epoch=0)

        assert refused is ErrorCode.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize(
    ("version", "code"),
    [(1, ErrorCode.COORDINATOR_NOT_AVAILABLE), (2, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)],
)
@virtual_time
async def test_old_producers_are_not_told_that_the_coordinator_is_loading(
    version: int, code: ErrorCode
) -> None:
    async with running_with_orders(MemoryFileSystem()) as node:
        name = node.partition(GROUP_METADATA_TOPIC, OFFSETS_PARTITION).topic_partition
        node.broker.services.shards._loading.add(name)

        assert commit_in_transaction(node, 5, version=version) is code


@virtual_time
async def test_offsets_of_a_deleted_topic_do_not_come_back_with_the_marker() -> None:
    async with running_with_orders(MemoryFileSystem()) as node:
        commit_in_transaction(node, 5)

        node.delete("orders")
        await node.create("orders")
        write_marker(node, is_commit=True)

        assert node.committed("orders") is None
