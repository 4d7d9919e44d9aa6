"""Calls about the offsets that groups have committed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyk.clients import offsets
from pyk.clients.admin.arguments import (
    checked_group_partitions,
    checked_name,
    checked_offsets,
    checked_partitions,
)
from pyk.clients.admin.calls import Calls
from pyk.clients.admin.groups import PartitionLag
from pyk.clients.admin.offset_calls import OffsetCalls
from pyk.clients.admin.routes import ToCoordinators
from pyk.clients.engine.connection import VersionedRequest
from pyk.clients.engine.responses import result_for_each, without_errors
from pyk.clients.errors import KafkaError, UnknownMemberIdError
from pyk.clients.offsets import OffsetSpec
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.offset_fetch import OffsetFetchRequest

Committed = dict[TopicPartition, OffsetAndMetadata | None]


class GroupOffsetCalls:
    """Carries out the calls about committed offsets; :class:`AsyncAdmin` documents them."""

    def __init__(self, calls: Calls, offset_calls: OffsetCalls) -> None:
        self._calls = calls
        self._offset_calls = offset_calls

    async def list_consumer_group_offsets(
        self,
        group_id: str | Mapping[str, Iterable[TopicPartition] | None],
        partitions: Iterable[TopicPartition] | None,
        *,
        require_stable: bool,
        timeout: float | None,
    ) -> Committed | dict[str, Committed]:
        if isinstance(group_id, Mapping):
            if partitions is not None:
                raise TypeError("give the partitions of several groups by group id")
            asked = checked_group_partitions(group_id)
            return await self._list(asked, require_stable=require_stable, timeout=timeout)
        return await self.of_group(
            group_id, partitions, require_stable=require_stable, timeout=timeout
        )

    async def of_group(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None,
        *,
        require_stable: bool,
        timeout: float | None,
    ) -> Committed:
        """Return the committed offsets of one group."""
        asked = checked_group_partitions({checked_name(group_id, "a group id"): partitions})
        return (await self._list(asked, require_stable=require_stable, timeout=timeout))[group_id]

    async def _list(
        self,
        asked: Mapping[str, Sequence[TopicPartition] | None],
        *,
        require_stable: bool,
        timeout: float | None,
    ) -> dict[str, Committed]:
        deadline = await self._calls.begin(timeout)

        async def ask_for(node_id: int, group_id: str) -> Committed | KafkaError:
            partitions = asked[group_id]
            request = VersionedRequest(
                OffsetFetchRequest,
                lambda version: offsets.offset_fetch_request(
                    group_id, partitions, version, require_stable=require_stable
                ),
            )
            try:
                response = await self._calls.send(
                    node_id,
                    request,
                    deadline,
                    min_version=offsets.FIRST_FETCH_VERSION,
                    max_version=offsets.LAST_FETCH_VERSION,
                )
                answers = offsets.fetched_offsets(response, group_id)
                places = answers if partitions is None else partitions
                return without_errors(result_for_each(places, answers, node_id))
            except KafkaError as error:
                return error

        async def ask(node_id: int, group_ids: Sequence[str]) -> Any:
            found = await asyncio.gather(*(ask_for(node_id, one) for one in group_ids))
            return dict(zip(group_ids, found, strict=True))

        return await self._calls.settle(asked, ToCoordinators(self._calls.client), ask, deadline)

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
            answers = offsets.committed_offsets(response)
            return {one: _explained(answer, group_id) for one, answer in answers.items()}

        await self._calls.change(
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

        await self._calls.change(
            partitions, ToCoordinators(self._calls.client, group_id), ask, deadline
        )

    async def lag(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None,
        *,
        timeout: float | None,
    ) -> dict[TopicPartition, PartitionLag]:
        deadline = await self._calls.begin(timeout)
        committed = await self.of_group(
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


def _explained(answer: Any, group_id: str) -> Any:
    """Return the outcome of a commit; an outsider is refused because the group has members."""
    if not isinstance(answer, UnknownMemberIdError):
        return answer
    reason = f"group {group_id!r} has members, which would go on where they are: stop them first"
    return UnknownMemberIdError(
        f"{ErrorCode.UNKNOWN_MEMBER_ID.name} ({answer.code}): {reason}",
        topic=answer.topic,
        partition=answer.partition,
        group_id=group_id,
    )
