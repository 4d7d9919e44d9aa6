"""The methods of the admin clients about what Kafka's Admin does not have."""

from __future__ import annotations

from collections.abc import Iterable

from pyk.clients.admin.core import AdminCore
from pyk.clients.admin.groups import PartitionLag
from pyk.clients.admin.offset_resets import OffsetReset, ResetTo
from pyk.clients.engine.thread import LoopThread
from pyk.clients.topic_partition import TopicPartition


class AsyncHelperAdmin:
    """The part of :class:`AsyncAdmin` that is about what Kafka's Admin does not have."""

    _core: AdminCore

    async def lag(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        timeout: float | None = None,
    ) -> dict[TopicPartition, PartitionLag]:
        """Return the lag of a group, in these partitions or in all that it committed."""
        return await self._core.group_offsets.lag(group_id, partitions, timeout=timeout)

    async def reset_offsets(
        self,
        group_id: str,
        *,
        to: ResetTo,
        partitions: Iterable[TopicPartition] | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> dict[TopicPartition, OffsetReset]:
        """Commit other offsets for a group without members; return those before and after.

        ``to`` is "earliest", "latest", a datetime with a time zone, a timedelta back from now, or
        the offsets by partition. A time after the last record leads to the end, and no offset
        lies outside of the log. By default this is about the partitions that ``to`` names or the
        group has committed. ``dry_run`` commits nothing.
        """
        return await self._core.helpers.reset_offsets(
            group_id, to=to, partitions=partitions, dry_run=dry_run, timeout=timeout
        )

    async def copy_topic_config(
        self, source: str, target: str, *, timeout: float | None = None
    ) -> dict[str, str | None]:
        """Give a topic the settings that another one has of its own, and return these.

        What only the target sets stays as it is.
        """
        return await self._core.helpers.copy_topic_config(source, target, timeout=timeout)


class HelperAdmin:
    """The part of :class:`Admin` that is about what Kafka's Admin does not have."""

    _core: AdminCore
    _thread: LoopThread

    def lag(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        timeout: float | None = None,
    ) -> dict[TopicPartition, PartitionLag]:
        """Return the lag of a group, in these partitions or in all that it committed."""
        return self._thread.call(
            self._core.group_offsets.lag(group_id, partitions, timeout=timeout)
        )

    def reset_offsets(
        self,
        group_id: str,
        *,
        to: ResetTo,
        partitions: Iterable[TopicPartition] | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> dict[TopicPartition, OffsetReset]:
        """Commit other offsets for a group without members; return those before and after.

        ``to`` is "earliest", "latest", a datetime with a time zone, a timedelta back from now, or
        the offsets by partition. A time after the last record leads to the end, and no offset
        lies outside of the log. By default this is about the partitions that ``to`` names or the
        group has committed. ``dry_run`` commits nothing.
        """
        return self._thread.call(
            self._core.helpers.reset_offsets(
                group_id, to=to, partitions=partitions, dry_run=dry_run, timeout=timeout
            )
        )

    def copy_topic_config(
        self, source: str, target: str, *, timeout: float | None = None
    ) -> dict[str, str | None]:
        """Give a topic the settings that another one has of its own, and return these.

        What only the target sets stays as it is.
        """
        return self._thread.call(
            self._core.helpers.copy_topic_config(source, target, timeout=timeout)
        )
