"""Calls about groups of Kafka Streams (KIP-1071), whose offsets are those of consumer groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyk.clients.admin import streams_groups
from pyk.clients.admin.arguments import checked_names
from pyk.clients.admin.calls import Calls
from pyk.clients.admin.routes import ToCoordinators
from pyk.clients.admin.streams_groups import StreamsGroupDescription
from pyk.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest


class StreamsGroupCalls:
    """Carries out the calls about streams groups; :class:`AsyncAdmin` documents them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def describe_streams_groups(
        self, group_ids: Iterable[str], *, authorized_operations: bool, timeout: float | None
    ) -> dict[str, StreamsGroupDescription]:
        group_ids = checked_names(group_ids, "a group id")
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[str]) -> Any:
            request = StreamsGroupDescribeRequest(
                group_ids=list(some), include_authorized_operations=authorized_operations
            )
            response = await self._calls.send(node_id, request, deadline)
            return streams_groups.described_streams_groups(response, node_id)

        return await self._calls.settle(
            group_ids, ToCoordinators(self._calls.client), ask, deadline
        )
