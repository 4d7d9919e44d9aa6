"""The methods of the admin clients about topics, their settings and offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar
from uuid import UUID

from pyk.clients import admin
from pyk.clients.admin.core import AdminCore
from pyk.clients.engine.thread import LoopThread
from pyk.clients.topic_partition import TopicPartition

TopicKey = TypeVar("TopicKey", str, UUID)


class AsyncTopicAdmin:
    """The part of :class:`AsyncAdmin` that is about topics, their settings and offsets."""

    _core: AdminCore

    async def create_topics(
        self,
        new_topics: Iterable[admin.NewTopic],
        *,
        validate_only: bool = False,
        retry_on_quota_violation: bool = True,
        timeout: float | None = None,
    ) -> dict[str, admin.CreatedTopic]:
        """Create topics, or with ``validate_only`` only check them; return the outcomes by name.

        Without ``retry_on_quota_violation`` a broker that holds back too many changes raises
        :class:`ThrottlingQuotaExceededError` at once.
        """
        return await self._core.topics.create_topics(
            new_topics,
            validate_only=validate_only,
            retry_on_quota_violation=retry_on_quota_violation,
            timeout=timeout,
        )

    async def list_topics(
        self, *, internal: bool = False, timeout: float | None = None
    ) -> dict[str, admin.TopicListing]:
        """Return all topics by name, Kafka's own only if ``internal``."""
        return await self._core.topic_lists.list_topics(internal=internal, timeout=timeout)

    async def describe_topics(
        self,
        names: Iterable[TopicKey],
        *,
        authorized_operations: bool = False,
        page_size: int = 2000,
        timeout: float | None = None,
    ) -> dict[TopicKey, admin.TopicDescription]:
        """Return topics with their partitions: by name, or by id (brokers since 3.1).

        ``authorized_operations`` also returns what the caller may do with each. A response of a
        broker has at most ``page_size`` partitions; the call asks until it has all.
        """
        return await self._core.topics.describe_topics(
            names,
            authorized_operations=authorized_operations,
            page_size=page_size,
            timeout=timeout,
        )

    async def delete_topics(
        self,
        names: Iterable[str] | Iterable[UUID],
        *,
        retry_on_quota_violation: bool = True,
        timeout: float | None = None,
    ) -> None:
        """Delete topics with all their records, by name or by id (brokers since 2.8).

        An id never means another topic that has been created under the same name since.
        """
        await self._core.topics.delete_topics(
            names, retry_on_quota_violation=retry_on_quota_violation, timeout=timeout
        )

    async def create_partitions(
        self,
        counts: Mapping[str, int | admin.NewPartitions],
        *,
        validate_only: bool = False,
        retry_on_quota_violation: bool = True,
        timeout: float | None = None,
    ) -> None:
        """Raise topics to these numbers of partitions; keys may then go to other partitions.

        ``NewPartitions(count, assignments)`` also says which brokers hold the new partitions.
        """
        await self._core.topics.create_partitions(
            counts,
            validate_only=validate_only,
            retry_on_quota_violation=retry_on_quota_violation,
            timeout=timeout,
        )

    async def delete_records(
        self, before: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Delete the records before an offset of each partition; return the new log start offsets.

        -1 (``OffsetSpec.LATEST``) deletes all.
        """
        return await self._core.offsets.delete_records(before, timeout=timeout)

    async def list_offsets(
        self,
        times: Mapping[TopicPartition, admin.OffsetSpec | int],
        *,
        read_committed: bool = False,
        timeout: float | None = None,
    ) -> dict[TopicPartition, admin.ListedOffset | None]:
        """Return offsets by ``OffsetSpec``, or of the first record at or after a time.

        Times are milliseconds since 1970. The offset is None if no record is that new.
        With ``read_committed`` the end is before the first open transaction.
        """
        return await self._core.offsets.list_offsets(
            times, read_committed=read_committed, timeout=timeout
        )

    async def describe_configs(
        self,
        resources: Iterable[admin.ConfigResource],
        *,
        documentation: bool = False,
        synonyms: bool = False,
        timeout: float | None = None,
    ) -> dict[admin.ConfigResource, Mapping[str, admin.ConfigEntry]]:
        """Return all settings of topics, brokers or groups, by resource and name.

        ``synonyms`` also returns from where else each value could come.
        """
        return await self._core.configs.describe_configs(
            resources, documentation=documentation, synonyms=synonyms, timeout=timeout
        )

    async def incremental_alter_configs(
        self,
        changes: Mapping[admin.ConfigResource, Iterable[admin.AlterConfig]],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Change single settings, and leave the others as they are."""
        await self._core.configs.incremental_alter_configs(
            changes, validate_only=validate_only, timeout=timeout
        )


class TopicAdmin:
    """The part of :class:`Admin` that is about topics, their settings and offsets."""

    _core: AdminCore
    _thread: LoopThread

    def create_topics(
        self,
        new_topics: Iterable[admin.NewTopic],
        *,
        validate_only: bool = False,
        retry_on_quota_violation: bool = True,
        timeout: float | None = None,
    ) -> dict[str, admin.CreatedTopic]:
        """Create topics, or with ``validate_only`` only check them; return the outcomes by name.

        Without ``retry_on_quota_violation`` a broker that holds back too many changes raises
        :class:`ThrottlingQuotaExceededError` at once.
        """
        return self._thread.call(
            self._core.topics.create_topics(
                new_topics,
                validate_only=validate_only,
                retry_on_quota_violation=retry_on_quota_violation,
                timeout=timeout,
            )
        )

    def list_topics(
        self, *, internal: bool = False, timeout: float | None = None
    ) -> dict[str, admin.TopicListing]:
        """Return all topics by name, Kafka's own only if ``internal``."""
        return self._thread.call(
            self._core.topic_lists.list_topics(internal=internal, timeout=timeout)
        )

    def describe_topics(
        self,
        names: Iterable[TopicKey],
        *,
        authorized_operations: bool = False,
        page_size: int = 2000,
        timeout: float | None = None,
    ) -> dict[TopicKey, admin.TopicDescription]:
        """Return topics with their partitions: by name, or by id (brokers since 3.1).

        ``authorized_operations`` also returns what the caller may do with each. A response of a
        broker has at most ``page_size`` partitions; the call asks until it has all.
        """
        return self._thread.call(
            self._core.topics.describe_topics(
                names,
                authorized_operations=authorized_operations,
                page_size=page_size,
                timeout=timeout,
            )
        )

    def delete_topics(
        self,
        names: Iterable[str] | Iterable[UUID],
        *,
        retry_on_quota_violation: bool = True,
        timeout: float | None = None,
    ) -> None:
        """Delete topics with all their records, by name or by id (brokers since 2.8).

        An id never means another topic that has been created under the same name since.
        """
        self._thread.call(
            self._core.topics.delete_topics(
                names, retry_on_quota_violation=retry_on_quota_violation, timeout=timeout
            )
        )

    def create_partitions(
        self,
        counts: Mapping[str, int | admin.NewPartitions],
        *,
        validate_only: bool = False,
        retry_on_quota_violation: bool = True,
        timeout: float | None = None,
    ) -> None:
        """Raise topics to these numbers of partitions; keys may then go to other partitions.

        ``NewPartitions(count, assignments)`` also says which brokers hold the new partitions.
        """
        self._thread.call(
            self._core.topics.create_partitions(
                counts,
                validate_only=validate_only,
                retry_on_quota_violation=retry_on_quota_violation,
                timeout=timeout,
            )
        )

    def delete_records(
        self, before: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Delete the records before an offset of each partition; return the new log start offsets.

        -1 (``OffsetSpec.LATEST``) deletes all.
        """
        return self._thread.call(self._core.offsets.delete_records(before, timeout=timeout))

    def list_offsets(
        self,
        times: Mapping[TopicPartition, admin.OffsetSpec | int],
        *,
        read_committed: bool = False,
        timeout: float | None = None,
    ) -> dict[TopicPartition, admin.ListedOffset | None]:
        """Return offsets by ``OffsetSpec``, or of the first record at or after a time.

        Times are milliseconds since 1970. The offset is None if no record is that new.
        With ``read_committed`` the end is before the first open transaction.
        """
        return self._thread.call(
            self._core.offsets.list_offsets(times, read_committed=read_committed, timeout=timeout)
        )

    def describe_configs(
        self,
        resources: Iterable[admin.ConfigResource],
        *,
        documentation: bool = False,
        synonyms: bool = False,
        timeout: float | None = None,
    ) -> dict[admin.ConfigResource, Mapping[str, admin.ConfigEntry]]:
        """Return all settings of topics, brokers or groups, by resource and name.

        ``synonyms`` also returns from where else each value could come.
        """
        return self._thread.call(
            self._core.configs.describe_configs(
                resources, documentation=documentation, synonyms=synonyms, timeout=timeout
            )
        )

    def incremental_alter_configs(
        self,
        changes: Mapping[admin.ConfigResource, Iterable[admin.AlterConfig]],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Change single settings, and leave the others as they are."""
        self._thread.call(
            self._core.configs.incremental_alter_configs(
                changes, validate_only=validate_only, timeout=timeout
            )
        )
