"""The methods of the admin clients about groups of Kafka Streams (KIP-1071)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyk.clients import admin
from pyk.clients.admin.core import AdminCore
from pyk.clients.engine.thread import LoopThread
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition


class AsyncStreamsGroupAdmin:
    """The part of :class:`AsyncAdmin` that is about groups of Kafka Streams (KIP-1071)."""

    _core: AdminCore

    async def describe_streams_groups(
        self,
        group_ids: Iterable[str],
        *,
        authorized_operations: bool = False,
        timeout: float | None = None,
    ) -> dict[str, admin.StreamsGroupDescription]:
        """Return groups of Kafka Streams with their topologies and members, by id (KIP-1071)."""
        return await self._core.streams_groups.describe_streams_groups(
            group_ids, authorized_operations=authorized_operations, timeout=timeout
        )

    async def delete_streams_groups(
        self, group_ids: Iterable[str], *, timeout: float | None = None
    ) -> None:
        """Delete streams groups that have no members, with their offsets; internal topics stay."""
        await self._core.groups.delete_consumer_groups(group_ids, timeout=timeout)

    async def list_streams_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        require_stable: bool = False,
        timeout: float | None = None,
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return the committed offsets of a streams group, as of a consumer group."""
        return await self._core.group_offsets.of_group(
            group_id, partitions, require_stable=require_stable, timeout=timeout
        )

    async def alter_streams_group_offsets(
        self,
        group_id: str,
        new_offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        *,
        timeout: float | None = None,
    ) -> None:
        """Commit offsets for a streams group that has no members."""
        await self._core.group_offsets.alter_consumer_group_offsets(
            group_id, new_offsets, timeout=timeout
        )

    async def delete_streams_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition],
        *,
        timeout: float | None = None,
    ) -> None:
        """Delete the committed offsets of partitions that no member of a streams group reads."""
        await self._core.group_offsets.delete_consumer_group_offsets(
            group_id, partitions, timeout=timeout
        )


class StreamsGroupAdmin:
    """The part of :class:`Admin` that is about groups of Kafka Streams (KIP-1071)."""

    _core: AdminCore
    _thread: LoopThread

    def describe_streams_groups(
        self,
        group_ids: Iterable[str],
        *,
        authorized_operations: bool = False,
        timeout: float | None = None,
    ) -> dict[str, admin.StreamsGroupDescription]:
        """Return groups of Kafka Streams with their topologies and members, by id (KIP-1071)."""
        return self._thread.call(
            self._core.streams_groups.describe_streams_groups(
                group_ids, authorized_operations=authorized_operations, timeout=timeout
            )
        )

    def delete_streams_groups(
        self, group_ids: Iterable[str], *, timeout: float | None = None
    ) -> None:
        """Delete streams groups that have no members, with their offsets; internal topics stay."""
        self._thread.call(self._core.groups.delete_consumer_groups(group_ids, timeout=timeout))

    def list_streams_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        require_stable: bool = False,
        timeout: float | None = None,
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return the committed offsets of a streams group, as of a consumer group."""
        return self._thread.call(
            self._core.group_offsets.of_group(
                group_id, partitions, require_stable=require_stable, timeout=timeout
            )
        )

    def alter_streams_group_offsets(
        self,
        group_id: str,
        new_offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        *,
        timeout: float | None = None,
    ) -> None:
        """Commit offsets for a streams group that has no members."""
        self._thread.call(
            self._core.group_offsets.alter_consumer_group_offsets(
                group_id, new_offsets, timeout=timeout
            )
        )

    def delete_streams_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition],
        *,
        timeout: float | None = None,
    ) -> None:
        """Delete the committed offsets of partitions that no member of a streams group reads."""
        self._thread.call(
            self._core.group_offsets.delete_consumer_group_offsets(
                group_id, partitions, timeout=timeout
            )
        )
