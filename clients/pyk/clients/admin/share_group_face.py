"""The methods of the admin clients about share groups (KIP-932)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyk.clients import admin
from pyk.clients.admin.core import AdminCore
from pyk.clients.engine.thread import LoopThread
from pyk.clients.topic_partition import TopicPartition


class AsyncShareGroupAdmin:
    """The part of :class:`AsyncAdmin` that is about share groups (KIP-932)."""

    _core: AdminCore

    async def describe_share_groups(
        self,
        group_ids: Iterable[str],
        *,
        authorized_operations: bool = False,
        timeout: float | None = None,
    ) -> dict[str, admin.ShareGroupDescription]:
        """Return share groups with their members, by id."""
        return await self._core.share_groups.describe_share_groups(
            group_ids, authorized_operations=authorized_operations, timeout=timeout
        )

    async def delete_share_groups(
        self, group_ids: Iterable[str], *, timeout: float | None = None
    ) -> None:
        """Delete share groups that have no members, with their offsets."""
        await self._core.share_groups.delete_share_groups(group_ids, timeout=timeout)

    async def list_share_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        timeout: float | None = None,
    ) -> dict[TopicPartition, admin.SharePartitionOffset | None]:
        """Return how far a share group is, in these partitions or in all that it has read from.

        None stands for a partition in which it has not begun."""
        return await self._core.share_groups.list_share_group_offsets(
            group_id, partitions, timeout=timeout
        )

    async def alter_share_group_offsets(
        self,
        group_id: str,
        new_offsets: Mapping[TopicPartition, int],
        *,
        timeout: float | None = None,
    ) -> None:
        """Set where a share group without members begins; what it knew of records is dropped."""
        await self._core.share_groups.alter_share_group_offsets(
            group_id, new_offsets, timeout=timeout
        )

    async def delete_share_group_offsets(
        self, group_id: str, topics: Iterable[str], *, timeout: float | None = None
    ) -> None:
        """Let a share group without members forget topics."""
        await self._core.share_groups.delete_share_group_offsets(group_id, topics, timeout=timeout)


class ShareGroupAdmin:
    """The part of :class:`Admin` that is about share groups (KIP-932)."""

    _core: AdminCore
    _thread: LoopThread

    def describe_share_groups(
        self,
        group_ids: Iterable[str],
        *,
        authorized_operations: bool = False,
        timeout: float | None = None,
    ) -> dict[str, admin.ShareGroupDescription]:
        """Return share groups with their members, by id."""
        return self._thread.call(
            self._core.share_groups.describe_share_groups(
                group_ids, authorized_operations=authorized_operations, timeout=timeout
            )
        )

    def delete_share_groups(
        self, group_ids: Iterable[str], *, timeout: float | None = None
    ) -> None:
        """Delete share groups that have no members, with their offsets."""
        self._thread.call(self._core.share_groups.delete_share_groups(group_ids, timeout=timeout))

    def list_share_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        timeout: float | None = None,
    ) -> dict[TopicPartition, admin.SharePartitionOffset | None]:
        """Return how far a share group is, in these partitions or in all that it has read from.

        None stands for a partition in which it has not begun."""
        return self._thread.call(
            self._core.share_groups.list_share_group_offsets(group_id, partitions, timeout=timeout)
        )

    def alter_share_group_offsets(
        self,
        group_id: str,
        new_offsets: Mapping[TopicPartition, int],
        *,
        timeout: float | None = None,
    ) -> None:
        """Set where a share group without members begins; what it knew of records is dropped."""
        self._thread.call(
            self._core.share_groups.alter_share_group_offsets(
                group_id, new_offsets, timeout=timeout
            )
        )

    def delete_share_group_offsets(
        self, group_id: str, topics: Iterable[str], *, timeout: float | None = None
    ) -> None:
        """Let a share group without members forget topics."""
        self._thread.call(
            self._core.share_groups.delete_share_group_offsets(group_id, topics, timeout=timeout)
        )
