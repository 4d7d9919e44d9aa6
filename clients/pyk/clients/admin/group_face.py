"""The methods of the admin clients about groups of all types and of consumers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import overload

from pyk.clients import admin
from pyk.clients.admin.core import AdminCore
from pyk.clients.engine.thread import LoopThread
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition


class AsyncGroupAdmin:
    """The part of :class:`AsyncAdmin` that is about groups of all types and of consumers."""

    _core: AdminCore

    async def list_groups(
        self,
        *,
        states: Iterable[str] = (),
        types: Iterable[str] = (),
        protocol_types: Iterable[str] = (),
        timeout: float | None = None,
    ) -> list[admin.GroupListing]:
        """Return the groups of all brokers, in these states and of these types if any are given."""
        return await self._core.group_lists.list_groups(
            states=states, types=types, protocol_types=protocol_types, timeout=timeout
        )

    async def list_consumer_groups(
        self,
        *,
        states: Iterable[str] = (),
        types: Iterable[str] = (),
        timeout: float | None = None,
    ) -> list[admin.GroupListing]:
        """Return the groups of consumers, of the types ``classic`` and ``consumer`` or one of them.

        A group that only has committed offsets counts as one.
        """
        return await self._core.group_lists.list_consumer_groups(
            states=states, types=types, timeout=timeout
        )

    async def describe_consumer_groups(
        self,
        group_ids: Iterable[str],
        *,
        authorized_operations: bool = False,
        timeout: float | None = None,
    ) -> dict[str, admin.ConsumerGroupDescription]:
        """Return groups of both types, ``classic`` and ``consumer``, with their members, by id."""
        return await self._core.groups.describe_consumer_groups(
            group_ids, authorized_operations=authorized_operations, timeout=timeout
        )

    async def describe_classic_groups(
        self,
        group_ids: Iterable[str],
        *,
        authorized_operations: bool = False,
        timeout: float | None = None,
    ) -> dict[str, admin.ClassicGroupDescription]:
        """Return groups of the type ``classic``, of consumers or others, with their members, by id.

        Raises :class:`GroupIdNotFoundError` for a group of another type.
        """
        return await self._core.groups.describe_classic_groups(
            group_ids, authorized_operations=authorized_operations, timeout=timeout
        )

    async def delete_consumer_groups(
        self, group_ids: Iterable[str], *, timeout: float | None = None
    ) -> None:
        """Delete groups that have no members, with their committed offsets."""
        await self._core.groups.delete_consumer_groups(group_ids, timeout=timeout)

    async def remove_members_from_consumer_group(
        self,
        group_id: str,
        instance_ids: Iterable[str] | None = None,
        *,
        reason: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Remove static members from a group by their instance ids, or all members by default.

        A member that still runs joins again. The coordinator logs the ``reason``. Raises
        :class:`UnknownMemberIdError` for a member that the group does not have; of several,
        :class:`SeveralErrors` by instance id.
        """
        await self._core.groups.remove_members_from_consumer_group(
            group_id, instance_ids, reason=reason, timeout=timeout
        )

    @overload
    async def list_consumer_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        require_stable: bool = False,
        timeout: float | None = None,
    ) -> dict[TopicPartition, OffsetAndMetadata | None]: ...

    @overload
    async def list_consumer_group_offsets(
        self,
        group_id: Mapping[str, Iterable[TopicPartition] | None],
        *,
        require_stable: bool = False,
        timeout: float | None = None,
    ) -> dict[str, dict[TopicPartition, OffsetAndMetadata | None]]: ...

    async def list_consumer_group_offsets(
        self,
        group_id: str | Mapping[str, Iterable[TopicPartition] | None],
        partitions: Iterable[TopicPartition] | None = None,
        *,
        require_stable: bool = False,
        timeout: float | None = None,
    ) -> (
        dict[TopicPartition, OffsetAndMetadata | None]
        | dict[str, dict[TopicPartition, OffsetAndMetadata | None]]
    ):
        """Return the committed offsets of a group, for these partitions or for all it committed.

        The offset is None where the group has committed nothing. ``require_stable`` waits for
        transactions that are about to commit for the group. Of several groups, given as
        ``{group id: partitions or None}``, the offsets are by group.
        """
        return await self._core.group_offsets.list_consumer_group_offsets(
            group_id, partitions, require_stable=require_stable, timeout=timeout
        )

    async def alter_consumer_group_offsets(
        self,
        group_id: str,
        new_offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        *,
        timeout: float | None = None,
    ) -> None:
        """Commit offsets for a group that has no members, such as to let it read again."""
        await self._core.group_offsets.alter_consumer_group_offsets(
            group_id, new_offsets, timeout=timeout
        )

    async def delete_consumer_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition],
        *,
        timeout: float | None = None,
    ) -> None:
        """Delete the committed offsets of partitions that no member of the group reads."""
        await self._core.group_offsets.delete_consumer_group_offsets(
            group_id, partitions, timeout=timeout
        )


class GroupAdmin:
    """The part of :class:`Admin` that is about groups of all types and of consumers."""

    _core: AdminCore
    _thread: LoopThread

    def list_groups(
        self,
        *,
        states: Iterable[str] = (),
        types: Iterable[str] = (),
        protocol_types: Iterable[str] = (),
        timeout: float | None = None,
    ) -> list[admin.GroupListing]:
        """Return the groups of all brokers, in these states and of these types if any are given."""
        return self._thread.call(
            self._core.group_lists.list_groups(
                states=states, types=types, protocol_types=protocol_types, timeout=timeout
            )
        )

    def list_consumer_groups(
        self,
        *,
        states: Iterable[str] = (),
        types: Iterable[str] = (),
        timeout: float | None = None,
    ) -> list[admin.GroupListing]:
        """Return the groups of consumers, of the types ``classic`` and ``consumer`` or one of them.

        A group that only has committed offsets counts as one.
        """
        return self._thread.call(
            self._core.group_lists.list_consumer_groups(states=states, types=types, timeout=timeout)
        )

    def describe_consumer_groups(
        self,
        group_ids: Iterable[str],
        *,
        authorized_operations: bool = False,
        timeout: float | None = None,
    ) -> dict[str, admin.ConsumerGroupDescription]:
        """Return groups of both types, ``classic`` and ``consumer``, with their members, by id."""
        return self._thread.call(
            self._core.groups.describe_consumer_groups(
                group_ids, authorized_operations=authorized_operations, timeout=timeout
            )
        )

    def describe_classic_groups(
        self,
        group_ids: Iterable[str],
        *,
        authorized_operations: bool = False,
        timeout: float | None = None,
    ) -> dict[str, admin.ClassicGroupDescription]:
        """Return groups of the type ``classic``, of consumers or others, with their members, by id.

        Raises :class:`GroupIdNotFoundError` for a group of another type.
        """
        return self._thread.call(
            self._core.groups.describe_classic_groups(
                group_ids, authorized_operations=authorized_operations, timeout=timeout
            )
        )

    def delete_consumer_groups(
        self, group_ids: Iterable[str], *, timeout: float | None = None
    ) -> None:
        """Delete groups that have no members, with their committed offsets."""
        self._thread.call(self._core.groups.delete_consumer_groups(group_ids, timeout=timeout))

    def remove_members_from_consumer_group(
        self,
        group_id: str,
        instance_ids: Iterable[str] | None = None,
        *,
        reason: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Remove static members from a group by their instance ids, or all members by default.

        A member that still runs joins again. The coordinator logs the ``reason``. Raises
        :class:`UnknownMemberIdError` for a member that the group does not have; of several,
        :class:`SeveralErrors` by instance id.
        """
        self._thread.call(
            self._core.groups.remove_members_from_consumer_group(
                group_id, instance_ids, reason=reason, timeout=timeout
            )
        )

    @overload
    def list_consumer_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        require_stable: bool = False,
        timeout: float | None = None,
    ) -> dict[TopicPartition, OffsetAndMetadata | None]: ...

    @overload
    def list_consumer_group_offsets(
        self,
        group_id: Mapping[str, Iterable[TopicPartition] | None],
        *,
        require_stable: bool = False,
        timeout: float | None = None,
    ) -> dict[str, dict[TopicPartition, OffsetAndMetadata | None]]: ...

    def list_consumer_group_offsets(
        self,
        group_id: str | Mapping[str, Iterable[TopicPartition] | None],
        partitions: Iterable[TopicPartition] | None = None,
        *,
        require_stable: bool = False,
        timeout: float | None = None,
    ) -> (
        dict[TopicPartition, OffsetAndMetadata | None]
        | dict[str, dict[TopicPartition, OffsetAndMetadata | None]]
    ):
        """Return the committed offsets of a group, for these partitions or for all it committed.

        The offset is None where the group has committed nothing. ``require_stable`` waits for
        transactions that are about to commit for the group. Of several groups, given as
        ``{group id: partitions or None}``, the offsets are by group.
        """
        return self._thread.call(
            self._core.group_offsets.list_consumer_group_offsets(
                group_id, partitions, require_stable=require_stable, timeout=timeout
            )
        )

    def alter_consumer_group_offsets(
        self,
        group_id: str,
        new_offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        *,
        timeout: float | None = None,
    ) -> None:
        """Commit offsets for a group that has no members, such as to let it read again."""
        self._thread.call(
            self._core.group_offsets.alter_consumer_group_offsets(
                group_id, new_offsets, timeout=timeout
            )
        )

    def delete_consumer_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition],
        *,
        timeout: float | None = None,
    ) -> None:
        """Delete the committed offsets of partitions that no member of the group reads."""
        self._thread.call(
            self._core.group_offsets.delete_consumer_group_offsets(
                group_id, partitions, timeout=timeout
            )
        )
