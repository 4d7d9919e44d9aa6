"""Calls about topics: make, describe, grow and remove them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar
from uuid import UUID

from pyk.clients.admin import topic_descriptions, topics
from pyk.clients.admin.arguments import checked_counts, checked_positive, checked_topics
from pyk.clients.admin.calls import Calls
from pyk.clients.admin.routes import ToAnyNode, ToController
from pyk.clients.admin.topic_descriptions import TopicDescription
from pyk.clients.admin.topics import CreatedTopic, NewPartitions, NewTopic
from pyk.clients.engine.connection import VersionedRequest
from pyk.clients.errors import (
    ThrottlingQuotaExceededError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
)
from pyk.protocol.messages.delete_topics import DeleteTopicsRequest
from pyk.runtime.checked_arguments import checked_flag

TopicKey = TypeVar("TopicKey", str, UUID)


class TopicCalls:
    """Carries out the calls about topics; :class:`AsyncAdmin` documents them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def create_topics(
        self,
        new_topics: Iterable[NewTopic],
        *,
        validate_only: bool,
        retry_on_quota_violation: bool,
        timeout: float | None,
    ) -> dict[str, CreatedTopic]:
        by_name = topics.by_name(new_topics)
        validate_only = checked_flag(validate_only, "validate_only")
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, names: Sequence[str]) -> Any:
            request = topics.create_topics_request(
                [by_name[name] for name in names],
                self._calls.remaining_ms(deadline),
                validate_only=validate_only,
            )
            min_version = topics.first_create_version(by_name.values())
            try:
                response = await self._calls.send(
                    node_id, request, deadline, min_version=min_version
                )
            except UnsupportedVersionError as error:
                if min_version is None:
                    raise
                raise topics.needs_defaults(error) from error
            return topics.created_topics(response)

        return await self._calls.change(
            by_name, self._to_controller(retry_on_quota_violation), ask, deadline
        )

    async def describe_topics(
        self,
        names: Iterable[TopicKey],
        *,
        authorized_operations: bool,
        page_size: int,
        timeout: float | None,
    ) -> dict[TopicKey, TopicDescription]:
        wanted: list[Any] = checked_topics(names)
        limit = checked_positive(page_size, "page_size")
        by_id = any(isinstance(one, UUID) for one in wanted)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[Any]) -> Any:
            pages = topic_descriptions.TopicPages(authorized_operations)
            if not by_id and await self._add_pages(node_id, some, limit, pages, deadline):
                return pages.descriptions()
            response = await self._calls.send(
                node_id,
                topic_descriptions.describe_request(
                    some, authorized_operations=authorized_operations
                ),
                deadline,
                min_version=topic_descriptions.first_version(
                    by_id=by_id, authorized_operations=authorized_operations
                ),
            )
            return topic_descriptions.topic_descriptions(response, by_id=by_id)

        return await self._calls.settle(wanted, ToAnyNode(self._calls.client), ask, deadline)

    async def _add_pages(
        self,
        node_id: int,
        names: Sequence[str],
        limit: int,
        pages: topic_descriptions.TopicPages,
        deadline: float,
    ) -> bool:
        """Add all pages of topics; return False for a broker before 3.8, which has no pages."""
        cursor, is_first = None, True
        while is_first or cursor is not None:
            request = topic_descriptions.page_request(names, cursor, limit)
            try:
                page = await self._calls.send(node_id, request, deadline)
            except UnsupportedVersionError:
                return False
            pages.add(page.topics)
            cursor, is_first = page.next_cursor, False
        return True

    async def delete_topics(
        self,
        names: Iterable[str] | Iterable[UUID],
        *,
        retry_on_quota_violation: bool,
        timeout: float | None,
    ) -> None:
        wanted = checked_topics(names)
        by_id = any(isinstance(one, UUID) for one in wanted)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[str | UUID]) -> Any:
            timeout_ms = self._calls.remaining_ms(deadline)
            request = VersionedRequest(
                DeleteTopicsRequest,
                lambda version: topics.delete_topics_request(some, timeout_ms, version),
            )
            min_version = topics.FIRST_VERSION_OF_TOPIC_STATES if by_id else None
            response = await self._calls.send(node_id, request, deadline, min_version=min_version)
            return topics.deleted_topics(response, by_id=by_id)

        await self._calls.change(
            wanted,
            self._to_controller(retry_on_quota_violation),
            ask,
            deadline,
            already_done=UnknownTopicIdError if by_id else UnknownTopicOrPartitionError,
        )

    async def create_partitions(
        self,
        counts: Mapping[str, int | NewPartitions],
        *,
        validate_only: bool,
        retry_on_quota_violation: bool,
        timeout: float | None,
    ) -> None:
        wanted = checked_counts(counts)
        validate_only = checked_flag(validate_only, "validate_only")
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, names: Sequence[str]) -> Any:
            request = topics.create_partitions_request(
                {name: wanted[name] for name in names},
                self._calls.remaining_ms(deadline),
                validate_only=validate_only,
            )
            return topics.created_partitions(await self._calls.send(node_id, request, deadline))

        await self._calls.change(
            wanted, self._to_controller(retry_on_quota_violation), ask, deadline
        )

    def _to_controller(self, retry_on_quota_violation: bool) -> ToController:
        lasting = () if retry_on_quota_violation else (ThrottlingQuotaExceededError,)
        return ToController(self._calls.client, lasting=lasting)
