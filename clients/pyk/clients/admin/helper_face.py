"""The methods of the admin clients about what Kafka's Admin does not have."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TypeVar

from pyk.clients import admin
from pyk.clients.admin.core import AdminCore
from pyk.clients.engine.thread import LoopThread
from pyk.clients.topic_partition import TopicPartition

Seen = TypeVar("Seen")


class AsyncHelperAdmin:
    """The part of :class:`AsyncAdmin` that is about what Kafka's Admin does not have."""

    _core: AdminCore

    async def lag(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        timeout: float | None = None,
    ) -> dict[TopicPartition, admin.PartitionLag]:
        """Return the lag of a group, in these partitions or in all that it committed."""
        return await self._core.group_offsets.lag(group_id, partitions, timeout=timeout)

    async def reset_offsets(
        self,
        group_id: str,
        *,
        to: admin.ResetTo,
        partitions: Iterable[TopicPartition] | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> dict[TopicPartition, admin.OffsetReset]:
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

    async def wait_until(
        self, condition: admin.Condition[Seen], *, every: float = 0.25, timeout: float | None = None
    ) -> Seen:
        """Wait until a condition holds, such as ``Until.topic_has_leaders("orders")``.

        Return what was seen then: the topic, the group, the offset, the lag. Looks ``every`` so
        many seconds. Raises :class:`KafkaTimeoutError`, which tells what was last seen, after
        ``timeout`` seconds (``default_api_timeout_ms``).
        """
        found: Seen = await self._core.watch.wait_until(condition, every=every, timeout=timeout)
        return found

    def watch_groups(
        self,
        *,
        types: Iterable[str] = (),
        every: float = 1.0,
        timeout: float | None = None,
    ) -> AsyncIterator[admin.GroupChange]:
        """Yield what changes among the groups: first each that there is, as added.

        Lists the groups ``every`` so many seconds. A group changes with its state or coordinator.
        Never ends; raises as :meth:`list_groups` does.
        """
        wanted, seconds = self._core.watch.checked(types, every, timeout)
        return self._watch_groups(wanted, seconds, timeout)

    async def _watch_groups(
        self, types: list[str], seconds: float, timeout: float | None
    ) -> AsyncIterator[admin.GroupChange]:
        known: dict[str, admin.GroupListing] = {}
        while True:
            known, changes = await self._core.watch.changes(known, types, timeout)
            for change in changes:
                yield change
            await self._core.watch.pause(seconds)


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
    ) -> dict[TopicPartition, admin.PartitionLag]:
        """Return the lag of a group, in these partitions or in all that it committed."""
        return self._thread.call(
            self._core.group_offsets.lag(group_id, partitions, timeout=timeout)
        )

    def reset_offsets(
        self,
        group_id: str,
        *,
        to: admin.ResetTo,
        partitions: Iterable[TopicPartition] | None = None,
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> dict[TopicPartition, admin.OffsetReset]:
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

    def wait_until(
        self, condition: admin.Condition[Seen], *, every: float = 0.25, timeout: float | None = None
    ) -> Seen:
        """Wait until a condition holds, such as ``Until.topic_has_leaders("orders")``.

        Return what was seen then: the topic, the group, the offset, the lag. Looks ``every`` so
        many seconds. Raises :class:`KafkaTimeoutError`, which tells what was last seen, after
        ``timeout`` seconds (``default_api_timeout_ms``).
        """
        found: Seen = self._thread.call(
            self._core.watch.wait_until(condition, every=every, timeout=timeout)
        )
        return found

    def watch_groups(
        self,
        *,
        types: Iterable[str] = (),
        every: float = 1.0,
        timeout: float | None = None,
    ) -> Iterator[admin.GroupChange]:
        """Yield what changes among the groups: first each that there is, as added.

        Lists the groups ``every`` so many seconds. A group changes with its state or coordinator.
        Never ends; raises as :meth:`list_groups` does.
        """
        wanted, seconds = self._core.watch.checked(types, every, timeout)
        return self._watch_groups(wanted, seconds, timeout)

    def _watch_groups(
        self, types: list[str], seconds: float, timeout: float | None
    ) -> Iterator[admin.GroupChange]:
        known: dict[str, admin.GroupListing] = {}
        while True:
            known, changes = self._thread.call(self._core.watch.changes(known, types, timeout))
            yield from changes
            self._thread.call(self._core.watch.pause(seconds))
