"""The admin client for asyncio."""

from __future__ import annotations

import os
import random as randomness
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self, Unpack

from pyk.clients import offsets
from pyk.clients.admin import configs, groups, topics
from pyk.clients.admin.arguments import (
    checked_changes,
    checked_counts,
    checked_ends,
    checked_name,
    checked_names,
    checked_offsets,
    checked_partitions,
    checked_resources,
    checked_times,
)
from pyk.clients.admin.calls import Calls, metadata_request, several
from pyk.clients.admin.cluster import ClusterDescription
from pyk.clients.admin.configs import AlterConfig, ConfigEntry, ConfigResource
from pyk.clients.admin.groups import ConsumerGroupDescription, GroupListing, PartitionLag
from pyk.clients.admin.routes import (
    ToAnyNode,
    ToController,
    ToCoordinators,
    ToLeaders,
    ToNodes,
)
from pyk.clients.admin.topics import CreatedTopic, NewTopic, TopicDescription, TopicListing
from pyk.clients.arguments import checked_timeout
from pyk.clients.config import AdminConfig, AdminOptions
from pyk.clients.config.properties_file import read_properties
from pyk.clients.config.signature import with_options_of
from pyk.clients.engine.answers import answer_for_each, without_errors
from pyk.clients.engine.client import Client
from pyk.clients.engine.connection import VersionedRequest
from pyk.clients.engine.context import AsyncContext
from pyk.clients.engine.metadata import MetadataAnswer
from pyk.clients.errors import GroupIdNotFoundError, UnknownTopicOrPartitionError, error_for
from pyk.clients.offsets import ListedOffset, OffsetSpec
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.delete_groups import DeleteGroupsRequest
from pyk.protocol.messages.delete_topics import DeleteTopicsRequest
from pyk.protocol.messages.describe_groups import DescribeGroupsRequest
from pyk.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from pyk.protocol.messages.offset_fetch import OffsetFetchRequest
from pyk.runtime.clock import Clock
from pyk.runtime.network import Network


@with_options_of(AdminConfig, AdminOptions)
class AsyncAdmin(AsyncContext):
    """Looks after topics, settings, groups and offsets.

    Every call takes ``timeout`` in seconds, None for ``default_api_timeout_ms``, and within it
    tries again what fails with an error that passes. A call about one thing raises its error, a
    call about several raises :class:`~pyk.clients.errors.SeveralErrors`, which holds each error and
    what succeeded. Connects when entered, or with the first call.
    """

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str] | None = None,
        *,
        clock: Clock | None = None,
        network: Network | None = None,
        random: randomness.Random | None = None,
        **options: Unpack[AdminOptions],
    ) -> None:
        """Check the options; nothing is connected yet.

        Raises :class:`ConfigurationError` for an option that is unknown or out of range.
        ``clock``, ``network`` and ``random`` are ways to the world, for tests.
        """
        config = AdminConfig.from_kwargs(bootstrap_servers, **options)
        self._set_up(config, clock, network, random)

    @classmethod
    def from_properties(
        cls,
        source: str | os.PathLike[str] | Mapping[str, object],
        /,
        **overrides: Unpack[AdminOptions],
    ) -> Self:
        """Return an admin client configured by Kafka's dotted names, from a file or a mapping."""
        admin = cls.__new__(cls)
        admin._set_up(AdminConfig.from_properties(read_properties(source), **overrides))
        return admin

    def _set_up(
        self,
        config: AdminConfig,
        clock: Clock | None = None,
        network: Network | None = None,
        random: randomness.Random | None = None,
    ) -> None:
        self.config = config
        self._client = Client(config, clock=clock, network=network, random=random)
        self._calls = Calls(self._client, config)

    async def start(self, timeout: float | None = None) -> None:
        """Connect. Entering the context manager does it, otherwise the first call.

        Raises :class:`BootstrapError`, which names every address and how far it came, as soon as
        all have failed, at the latest after ``timeout`` seconds (``default_api_timeout_ms``).
        """
        await self._calls.begin(timeout)

    async def close(self, timeout: float = 5.0) -> None:
        """End all connections; always returns, within ``timeout`` seconds."""
        checked_timeout(timeout)
        await self._client.close(timeout)

    def __repr__(self) -> str:
        return self.config.name_of(self)

    # -- topics ------------------------------------------------------------------------------------

    async def create_topics(
        self,
        new_topics: Iterable[NewTopic],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> dict[str, CreatedTopic]:
        """Make topics and return what came out, by name; ``validate_only`` makes nothing."""
        by_name = topics.by_name(new_topics)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, names: Sequence[str]) -> Any:
            request = topics.create_topics_request(
                [by_name[name] for name in names],
                self._calls.remaining_ms(deadline),
                validate_only=validate_only,
            )
            return topics.created_topics(await self._calls.send(node_id, request, deadline))

        return await self._calls.settle(by_name, ToController(self._client), ask, deadline)

    async def list_topics(
        self, *, internal: bool = False, timeout: float | None = None
    ) -> dict[str, TopicListing]:
        """Return all topics by name, Kafka's own only if ``internal``."""
        response = await self._calls.metadata(None, timeout)
        return topics.topic_listings(response, internal=internal)

    async def describe_topics(
        self, names: Iterable[str], *, timeout: float | None = None
    ) -> dict[str, TopicDescription]:
        """Return topics with their partitions, by name."""
        names = checked_names(names, "a topic")
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[str]) -> Any:
            return topics.topic_descriptions(
                await self._calls.send(node_id, metadata_request(some), deadline)
            )

        return await self._calls.settle(names, ToAnyNode(self._client), ask, deadline)

    async def delete_topics(self, names: Iterable[str], *, timeout: float | None = None) -> None:
        """Remove topics with all their records."""
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
            ToController(self._client),
            ask,
            deadline,
            already_done=UnknownTopicOrPartitionError,
        )

    async def create_partitions(
        self,
        counts: Mapping[str, int],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Let topics grow to these numbers of partitions; keys then go elsewhere than before."""
        counts = checked_counts(counts)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, names: Sequence[str]) -> Any:
            request = topics.create_partitions_request(
                {name: counts[name] for name in names},
                self._calls.remaining_ms(deadline),
                validate_only=validate_only,
            )
            return topics.created_partitions(await self._calls.send(node_id, request, deadline))

        await self._calls.settle(counts, ToController(self._client), ask, deadline)

    async def delete_records(
        self, before: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Remove the records before an offset of each partition, and return where they begin now.

        -1 (``OffsetSpec.LATEST``) removes all.
        """
        before = checked_ends(before)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, partitions: Sequence[TopicPartition]) -> Any:
            request = offsets.delete_records_request(
                {partition: before[partition] for partition in partitions},
                self._calls.remaining_ms(deadline),
            )
            return offsets.deleted_records(await self._calls.send(node_id, request, deadline))

        return await self._calls.settle(before, ToLeaders(self._client), ask, deadline)

    # -- settings ----------------------------------------------------------------------------------

    async def describe_configs(
        self,
        resources: Iterable[ConfigResource],
        *,
        documentation: bool = False,
        timeout: float | None = None,
    ) -> dict[ConfigResource, Mapping[str, ConfigEntry]]:
        """Return all settings of topics, brokers or groups, by resource and name."""
        asked = checked_resources(resources)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[ConfigResource]) -> Any:
            request = configs.describe_configs_request(some, documentation=documentation)
            return configs.described_configs(await self._calls.send(node_id, request, deadline))

        return await self._calls.settle(asked, _to_owners(self._client, asked), ask, deadline)

    async def incremental_alter_configs(
        self,
        changes: Mapping[ConfigResource, Iterable[AlterConfig]],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Change single settings, and leave the others as they are."""
        listed = checked_changes(changes)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[ConfigResource]) -> Any:
            request = configs.alter_configs_request(
                {resource: listed[resource] for resource in some}, validate_only=validate_only
            )
            return configs.altered_configs(await self._calls.send(node_id, request, deadline))

        await self._calls.settle(listed, _to_owners(self._client, listed), ask, deadline)

    # -- groups ------------------------------------------------------------------------------------

    async def list_groups(
        self,
        *,
        states: Iterable[str] = (),
        types: Iterable[str] = (),
        timeout: float | None = None,
    ) -> list[GroupListing]:
        """Return the groups of all brokers, in these states and of these types if any are given."""
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

        found = await self._calls.settle(node_ids, ToNodes(self._client, node_ids), ask, deadline)
        return sorted((one for some in found.values() for one in some), key=lambda g: g.group_id)

    async def describe_consumer_groups(
        self, group_ids: Iterable[str], *, timeout: float | None = None
    ) -> dict[str, ConsumerGroupDescription]:
        """Return groups with their members, by id."""
        group_ids = checked_names(group_ids, "a group id")
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[str]) -> Any:
            request = DescribeGroupsRequest(groups=list(some))
            return groups.described_groups(
                await self._calls.send(node_id, request, deadline), node_id
            )

        return await self._calls.settle(group_ids, ToCoordinators(self._client), ask, deadline)

    async def delete_consumer_groups(
        self, group_ids: Iterable[str], *, timeout: float | None = None
    ) -> None:
        """Remove groups that have no members, with their committed offsets."""
        group_ids = checked_names(group_ids, "a group id")
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[str]) -> Any:
            request = DeleteGroupsRequest(groups_names=list(some))
            return groups.deleted_groups(await self._calls.send(node_id, request, deadline))

        await self._calls.settle(
            group_ids,
            ToCoordinators(self._client),
            ask,
            deadline,
            already_done=GroupIdNotFoundError,
        )

    async def list_consumer_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        require_stable: bool = False,
        timeout: float | None = None,
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return what a group has committed: for these partitions, or wherever it has.

        None stands where it has committed nothing. ``require_stable`` waits for transactions that
        are about to commit for the group.
        """
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
            return {group_id: without_errors(answer_for_each(places, answers, node_id))}

        found = await self._calls.settle([group_id], ToCoordinators(self._client), ask, deadline)
        committed: dict[TopicPartition, OffsetAndMetadata | None] = found[group_id]
        return committed

    async def alter_consumer_group_offsets(
        self,
        group_id: str,
        new_offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        *,
        timeout: float | None = None,
    ) -> None:
        """Commit offsets for a group that has no members, such as to let it read again."""
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

        await self._calls.settle(wanted, ToCoordinators(self._client, group_id), ask, deadline)

    async def delete_consumer_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition],
        *,
        timeout: float | None = None,
    ) -> None:
        """Forget what a group has committed for partitions that no member reads."""
        group_id = checked_name(group_id, "a group id")
        partitions = checked_partitions(partitions)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[TopicPartition]) -> Any:
            request = offsets.offset_delete_request(group_id, some)
            response = await self._calls.send(node_id, request, deadline)
            return offsets.deleted_offsets(response, group_id)

        await self._calls.settle(partitions, ToCoordinators(self._client, group_id), ask, deadline)

    async def consumer_group_lag(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        timeout: float | None = None,
    ) -> dict[TopicPartition, PartitionLag]:
        """Return how far a group is behind: in these partitions, or wherever it has committed."""
        deadline = await self._calls.begin(timeout)
        committed = await self.list_consumer_group_offsets(
            group_id, partitions, timeout=self._calls.remaining(deadline)
        )
        ends = await self.list_offsets(
            dict.fromkeys(committed, OffsetSpec.LATEST), timeout=self._calls.remaining(deadline)
        )
        return {
            partition: PartitionLag(offset.offset if offset else None, end.offset if end else 0)
            for (partition, offset), end in zip(committed.items(), ends.values(), strict=True)
        }

    # -- offsets and cluster -----------------------------------------------------------------------

    async def list_offsets(
        self,
        times: Mapping[TopicPartition, OffsetSpec | int],
        *,
        read_committed: bool = False,
        timeout: float | None = None,
    ) -> dict[TopicPartition, ListedOffset | None]:
        """Return the offset at a named place, or of the first record at or after a time.

        Times are milliseconds since 1970. None stands where no record is that new.
        ``read_committed`` takes transactions that are still open as the end.
        """
        times = checked_times(times)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, partitions: Sequence[TopicPartition]) -> Any:
            request = offsets.list_offsets_request(
                {partition: times[partition] for partition in partitions},
                read_committed=read_committed,
                timeout_ms=self._calls.remaining_ms(deadline),
            )
            response = await self._calls.send(
                node_id, request, deadline, min_version=offsets.FIRST_LIST_VERSION
            )
            return offsets.listed_offsets(response)

        found = await self._calls.settle(times, ToLeaders(self._client), ask, deadline)
        return {partition: found[partition] for partition in times}

    async def describe_cluster(self, *, timeout: float | None = None) -> ClusterDescription:
        """Return the cluster's id, controller and brokers, as one broker sees them now."""
        answer = MetadataAnswer.of(await self._calls.metadata((), timeout))
        nodes = sorted(answer.nodes.values(), key=lambda node: node.node_id)
        return ClusterDescription(answer.cluster_id, answer.controller_id, tuple(nodes))


def _to_owners(client: Client, resources: Iterable[ConfigResource]) -> ToNodes:
    return ToNodes(client, {resource: resource.node_id for resource in resources})
