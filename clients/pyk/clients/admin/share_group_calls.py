"""Calls about share groups and how far they are (KIP-932)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyk.clients.admin import share_groups
from pyk.clients.admin.arguments import (
    checked_name,
    checked_names,
    checked_partitions,
    checked_share_offsets,
)
from pyk.clients.admin.calls import Calls
from pyk.clients.admin.group_calls import GroupCalls
from pyk.clients.admin.routes import ToCoordinators
from pyk.clients.admin.share_groups import ShareGroupDescription, SharePartitionOffset
from pyk.clients.engine.responses import result_for_each, without_errors
from pyk.clients.errors import KafkaError
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from pyk.protocol.messages.share_group_describe import ShareGroupDescribeRequest


class ShareGroupCalls:
    """Carries out the calls about share groups; :class:`AsyncAdmin` documents them."""

    def __init__(self, calls: Calls, group_calls: GroupCalls) -> None:
        self._calls = calls
        self._group_calls = group_calls

    async def describe_share_groups(
        self, group_ids: Iterable[str], *, authorized_operations: bool, timeout: float | None
    ) -> dict[str, ShareGroupDescription]:
        group_ids = checked_names(group_ids, "a group id")
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[str]) -> Any:
            request = ShareGroupDescribeRequest(
                group_ids=list(some), include_authorized_operations=authorized_operations
            )
            response = await self._calls.send(node_id, request, deadline)
            return share_groups.described_share_groups(response, node_id)

        return await self._calls.settle(
            group_ids, ToCoordinators(self._calls.client), ask, deadline
        )

    async def delete_share_groups(self, group_ids: Iterable[str], *, timeout: float | None) -> None:
        await self._group_calls.delete_consumer_groups(group_ids, timeout=timeout)

    async def list_share_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None,
        *,
        timeout: float | None,
    ) -> dict[TopicPartition, SharePartitionOffset | None]:
        group_id = checked_name(group_id, "a group id")
        asked = None if partitions is None else checked_partitions(partitions)
        deadline = await self._calls.begin(timeout)
        request = share_groups.describe_offsets_request(group_id, asked)

        async def ask(node_id: int, _: Sequence[str]) -> Any:
            response = await self._calls.send(node_id, request, deadline)
            answers = share_groups.described_offsets(response, group_id)
            if isinstance(answers, KafkaError):
                return {group_id: answers}
            places = answers if asked is None else asked
            return {group_id: without_errors(result_for_each(places, answers, node_id))}

        found = await self._calls.settle(
            [group_id], ToCoordinators(self._calls.client), ask, deadline
        )
        offsets: dict[TopicPartition, SharePartitionOffset | None] = found[group_id]
        return offsets

    async def alter_share_group_offsets(
        self,
        group_id: str,
        new_offsets: Mapping[TopicPartition, int],
        *,
        timeout: float | None,
    ) -> None:
        group_id = checked_name(group_id, "a group id")
        wanted = checked_share_offsets(new_offsets)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[TopicPartition]) -> Any:
            offsets = {partition: wanted[partition] for partition in some}
            request = share_groups.alter_offsets_request(group_id, offsets)
            response = await self._calls.send(node_id, request, deadline)
            return share_groups.altered_offsets(response, some, group_id)

        await self._calls.change(
            wanted, ToCoordinators(self._calls.client, group_id), ask, deadline
        )

    async def delete_share_group_offsets(
        self, group_id: str, topics: Iterable[str], *, timeout: float | None
    ) -> None:
        group_id = checked_name(group_id, "a group id")
        topics = checked_names(topics, "a topic")
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[str]) -> Any:
            request = DeleteShareGroupOffsetsRequest(
                group_id=group_id,
                topics=[DeleteShareGroupOffsetsRequestTopic(topic_name=topic) for topic in some],
            )
            response = await self._calls.send(node_id, request, deadline)
            return share_groups.deleted_offsets(response, some, group_id)

        await self._calls.change(
            topics, ToCoordinators(self._calls.client, group_id), ask, deadline
        )
