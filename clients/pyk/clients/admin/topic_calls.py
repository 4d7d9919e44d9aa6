"""Calls about topics: make, describe, grow and remove them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyk.clients.admin import topics
from pyk.clients.admin.arguments import checked_counts, checked_names
from pyk.clients.admin.calls import Calls, metadata_request
from pyk.clients.admin.routes import ToAnyNode, ToController
from pyk.clients.admin.topics import CreatedTopic, NewTopic, TopicDescription, TopicListing
from pyk.clients.engine.connection import VersionedRequest
from pyk.clients.errors import UnknownTopicOrPartitionError
from pyk.protocol.messages.delete_topics import DeleteTopicsRequest


class TopicCalls:
    """Carries out the calls about topics; :class:`AsyncAdmin` documents them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def create_topics(
        self,
        new_topics: Iterable[NewTopic],
        *,
        validate_only: bool,
        timeout: float | None,
    ) -> dict[str, CreatedTopic]:
        by_name = topics.by_name(new_topics)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, names: Sequence[str]) -> Any:
            request = topics.create_topics_request(
                [by_name[name] for name in names],
                self._calls.remaining_ms(deadline),
                validate_only=validate_only,
            )
            return topics.created_topics(await self._calls.send(node_id, request, deadline))

        return await self._calls.settle(by_name, ToController(self._calls.client), ask, deadline)

    async def list_topics(
        self, *, internal: bool, timeout: float | None
    ) -> dict[str, TopicListing]:
        response = await self._calls.metadata(None, timeout)
        return topics.topic_listings(response, internal=internal)

    async def describe_topics(
        self, names: Iterable[str], *, timeout: float | None
    ) -> dict[str, TopicDescription]:
        names = checked_names(names, "a topic")
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[str]) -> Any:
            return topics.topic_descriptions(
                await self._calls.send(node_id, metadata_request(some), deadline)
            )

        return await self._calls.settle(names, ToAnyNode(self._calls.client), ask, deadline)

    async def delete_topics(self, names: Iterable[str], *, timeout: float | None) -> None:
        names = checked_names(names, "a topic")
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[str]) -> Any:
            timeout_ms = self._calls.remaining_ms(deadline)
            request = VersionedRequest(
                DeleteTopicsRequest,
                lambda version: topics.delete_topics_request(some, timeout_ms, version),
            )
            return topics.deleted_topics(await self._calls.send(node_id, request, deadline))

        await self._calls.settle(
            names,
            ToController(self._calls.client),
            ask,
            deadline,
            already_done=UnknownTopicOrPartitionError,
        )

    async def create_partitions(
        self,
        counts: Mapping[str, int],
        *,
        validate_only: bool,
        timeout: float | None,
    ) -> None:
        counts = checked_counts(counts)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, names: Sequence[str]) -> Any:
            request = topics.create_partitions_request(
                {name: counts[name] for name in names},
                self._calls.remaining_ms(deadline),
                validate_only=validate_only,
            )
            return topics.created_partitions(await self._calls.send(node_id, request, deadline))

        await self._calls.settle(counts, ToController(self._calls.client), ask, deadline)
