"""Calls about consumer groups and the offsets that they have committed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyk.clients import offsets
from pyk.clients.admin import groups
from pyk.clients.admin.arguments import (
    checked_name,
    checked_names,
    checked_offsets,
    checked_partitions,
)
from pyk.clients.admin.calls import Calls, several
from pyk.clients.admin.groups import ConsumerGroupDescription, GroupListing, PartitionLag
from pyk.clients.admin.offset_calls import OffsetCalls
from pyk.clients.admin.routes import ToCoordinators, ToNodes
from pyk.clients.engine.connection import VersionedRequest
from pyk.clients.engine.responses import result_for_each, without_errors
from pyk.clients.errors import (
    GroupIdNotFoundError,
    KafkaError,
    UnsupportedVersionError,
    error_for,
)
from pyk.clients.offsets import OffsetSpec
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from pyk.protocol.messages.delete_groups import DeleteGroupsRequest
from pyk.protocol.messages.describe_groups import DescribeGroupsRequest
from pyk.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from pyk.protocol.messages.offset_fetch import OffsetFetchRequest


class GroupCalls:
    """Carries out the calls about groups; :class:`AsyncAdmin` documents them."""

    def __init__(self, calls: Calls, offset_calls: OffsetCalls) -> None:
        self._calls = calls
        self._offset_calls = offset_calls

    async def list_groups(
        self,
        *,
        states: Iterable[str],
        types: Iterable[str],
        timeout: float | None,
    ) -> list[GroupListing]:
        response = await self._calls.metadata((), timeout)
        deadline = self._calls.deadline(timeout)
        node_ids: dict[Any, int | None] = {one.node_id: one.node_id for one in response.brokers}
        request = ListGroupsRequest(
            states_filter=list(several(states)), types_filter=list(several(types))
        )

        async def ask(node_id: int, _: Sequence[int]) -> Any:
            answer: ListGroupsResponse = await self._calls.send(node_id, request, deadline)
            if answer.error_code != ErrorCode.NONE:
                raise error_for(answer.error_code, node_id=node_id)
            return {node_id: groups.group_listings(answer.groups, node_id)}

        found = await self._calls.settle(
            node_ids, ToNodes(self._calls.client, node_ids), ask, deadline
        )
        return sorted((one for some in found.values() for one in some), key=lambda g: g.group_id)

    async def describe_consumer_groups(
        self, group_ids: Iterable[str], *, timeout: float | None
    ) -> dict[str, ConsumerGroupDescription]:
        group_ids = checked_names(group_ids, "a group id")
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[str]) -> Any:
            request = DescribeGroupsRequest(groups=list(some))
            response = await self._calls.send(node_id, request, deadline)
            answers = groups.described_groups(response, node_id)
            # A coordinator does not know a group of another type, so ask by the other request.
            missing = [one for one in some if isinstance(answers.get(one), GroupIdNotFoundError)]
            if missing:
                answers |= await self._described_by_the_new_request(node_id, missing, deadline)
            return answers

        return await self._calls.settle(
            group_ids, ToCoordinators(self._calls.client), ask, deadline
        )

    async def _described_by_the_new_request(
        self, node_id: int, group_ids: Sequence[str], deadline: float
    ) -> dict[str, ConsumerGroupDescription | KafkaError]:
        """Describe groups that follow KIP-848; nothing where the broker has no such groups."""
        request = ConsumerGroupDescribeRequest(group_ids=list(group_ids))
        try:
            response = await self._calls.send(node_id, request, deadline)
        except UnsupportedVersionError:
            return {}
        return groups.described_consumer_groups(response, node_id)

    async def delete_consumer_groups(
        self, group_ids: Iterable[str], *, timeout: float | None
    ) -> None:
        group_ids = checked_names(group_ids, "a group id")
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[str]) -> Any:
            request = DeleteGroupsRequest(groups_names=list(some))
            return groups.deleted_groups(await self._calls.send(node_id, request, deadline))

        await self._calls.settle(
            group_ids,
            ToCoordinators(self._calls.client),
            ask,
            deadline,
            already_done=GroupIdNotFoundError,
        )

    async def list_consumer_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None,
        *,
        require_stable: bool,
        timeout: float | None,
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        group_id = checked_name(group_id, "a group id")
        asked = None if partitions is None else checked_partitions(partitions)
        deadline = await self._calls.begin(timeout)
        request = VersionedRequest(
            OffsetFetchRequest,
            lambda version: offsets.offset_fetch_request(
                group_id, asked, version, require_stable=require_stable
            ),
        )

        async def ask(node_id: int, _: Sequence[str]) -> Any:
            response = await self._calls.send(
                node_id,
                request,
                deadline,
                min_version=offsets.FIRST_FETCH_VERSION,
                max_version=offsets.LAST_FETCH_VERSION,
            )
            answers = offsets.fetched_offsets(response, group_id)
            places = answers if asked is None else asked
            return {group_id: without_errors(result_for_each(places, answers, node_id))}

        found = await self._calls.settle(
            [group_id], ToCoordinators(self._calls.client), ask, deadline
        )
        committed: dict[TopicPartition, OffsetAndMetadata | None] = found[group_id]
        return committed

    async def alter_consumer_group_offsets(
        self,
        group_id: str,
        new_offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        *,
        timeout: float | None,
    ) -> None:
        group_id = checked_name(group_id, "a group id")
        wanted = checked_offsets(new_offsets)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[TopicPartition]) -> Any:
            response = await self._calls.send(
                node_id,
                offsets.offset_commit_request(
                    group_id, {partition: wanted[partition] for partition in some}
                ),
                deadline,
                min_version=offsets.FIRST_COMMIT_VERSION,
                max_version=offsets.LAST_COMMIT_VERSION,
            )
            return offsets.committed_offsets(response)

        await self._calls.settle(
            wanted, ToCoordinators(self._calls.client, group_id), ask, deadline
        )

    async def delete_consumer_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition],
        *,
        timeout: float | None,
    ) -> None:
        group_id = checked_name(group_id, "a group id")
        partitions = checked_partitions(partitions)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[TopicPartition]) -> Any:
            request = offsets.offset_delete_request(group_id, some)
            response = await self._calls.send(node_id, request, deadline)
            return offsets.deleted_offsets(response, group_id)

        await self._calls.settle(
            partitions, ToCoordinators(self._calls.client, group_id), ask, deadline
        )

    async def consumer_group_lag(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None,
        *,
        timeout: float | None,
    ) -> dict[TopicPartition, PartitionLag]:
        deadline = await self._calls.begin(timeout)
        committed = await self.list_consumer_group_offsets(
            group_id, partitions, require_stable=False, timeout=self._calls.remaining(deadline)
        )
        ends = await self._offset_calls.list_offsets(
            dict.fromkeys(committed, OffsetSpec.LATEST),
            read_committed=False,
            timeout=self._calls.remaining(deadline),
        )
        return {
            partition: PartitionLag(offset.offset if offset else None, end.offset if end else 0)
            for (partition, offset), end in zip(committed.items(), ends.values(), strict=True)
        }
