"""Calls about the offsets of logs: find them, and delete the records before them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyk.clients import offsets
from pyk.clients.admin.arguments import checked_ends, checked_times
from pyk.clients.admin.calls import Calls
from pyk.clients.admin.routes import ToLeaders
from pyk.clients.offsets import ListedOffset, OffsetSpec
from pyk.clients.topic_partition import TopicPartition


class OffsetCalls:
    """Carries out the calls about offsets of logs; :class:`AsyncAdmin` documents them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def list_offsets(
        self,
        times: Mapping[TopicPartition, OffsetSpec | int],
        *,
        read_committed: bool,
        timeout: float | None,
    ) -> dict[TopicPartition, ListedOffset | None]:
        times = checked_times(times)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, partitions: Sequence[TopicPartition]) -> Any:
            some = {partition: times[partition] for partition in partitions}
            request = offsets.list_offsets_request(
                some,
                read_committed=read_committed,
                timeout_ms=self._calls.remaining_ms(deadline),
            )
            response = await self._calls.send(
                node_id,
                request,
                deadline,
                min_version=offsets.first_list_version(some.values()),
            )
            return offsets.listed_offsets(response)

        found = await self._calls.settle(times, ToLeaders(self._calls.client), ask, deadline)
        return {partition: found[partition] for partition in times}

    async def delete_records(
        self, before: Mapping[TopicPartition, int], *, timeout: float | None
    ) -> dict[TopicPartition, int]:
        before = checked_ends(before)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, partitions: Sequence[TopicPartition]) -> Any:
            request = offsets.delete_records_request(
                {partition: before[partition] for partition in partitions},
                self._calls.remaining_ms(deadline),
            )
            return offsets.deleted_records(await self._calls.send(node_id, request, deadline))

        return await self._calls.change(before, ToLeaders(self._calls.client), ask, deadline)
