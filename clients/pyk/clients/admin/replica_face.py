"""The methods of the admin clients about where replicas are and which of them lead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pyk.clients import admin
from pyk.clients.admin.core import AdminCore
from pyk.clients.engine.thread import LoopThread
from pyk.clients.topic_partition import TopicPartition


class AsyncReplicaAdmin:
    """The part of :class:`AsyncAdmin` that is about where replicas are and which of them lead."""

    _core: AdminCore

    async def describe_log_dirs(
        self, broker_ids: Iterable[int], *, timeout: float | None = None
    ) -> dict[int, dict[str, admin.LogDirDescription]]:
        """Return the log directories of brokers with what is in them, by broker and path."""
        return await self._core.replicas.describe_log_dirs(broker_ids, timeout=timeout)

    async def describe_replica_log_dirs(
        self, replicas: Iterable[admin.TopicPartitionReplica], *, timeout: float | None = None
    ) -> dict[admin.TopicPartitionReplica, admin.ReplicaLogDir]:
        """Return in which log directory replicas are, and to which one they are on their way."""
        return await self._core.replicas.describe_replica_log_dirs(replicas, timeout=timeout)

    async def alter_replica_log_dirs(
        self, paths: Mapping[admin.TopicPartitionReplica, str], *, timeout: float | None = None
    ) -> None:
        """Move replicas to other log directories of their brokers; the moves go on after the call.

        Raises :class:`LogDirNotFoundError` if the broker has no such directory.
        """
        await self._core.replicas.alter_replica_log_dirs(paths, timeout=timeout)

    async def elect_leaders(
        self,
        election_type: admin.ElectionType,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        timeout: float | None = None,
    ) -> dict[TopicPartition, bool]:
        """Let partitions, by default all, elect their leaders.

        Return by partition whether it has another leader now; False if it needed none. Of all
        partitions only those with an election are returned.
        """
        return await self._core.replicas.elect_leaders(election_type, partitions, timeout=timeout)

    async def alter_partition_reassignments(
        self,
        replicas: Mapping[TopicPartition, Sequence[int] | None],
        *,
        allow_replication_factor_change: bool = True,
        timeout: float | None = None,
    ) -> None:
        """Move partitions to these brokers, the preferred leader first; None cancels a move.

        Raises :class:`NoReassignmentInProgressError` if there is none to cancel. The moves go on
        after the call.
        """
        await self._core.replicas.alter_partition_reassignments(
            replicas,
            allow_replication_factor_change=allow_replication_factor_change,
            timeout=timeout,
        )

    async def list_partition_reassignments(
        self, partitions: Iterable[TopicPartition] | None = None, *, timeout: float | None = None
    ) -> dict[TopicPartition, admin.PartitionReassignment]:
        """Return which of these partitions, by default of all, are moving."""
        return await self._core.replicas.list_partition_reassignments(partitions, timeout=timeout)


class ReplicaAdmin:
    """The part of :class:`Admin` that is about where replicas are and which of them lead."""

    _core: AdminCore
    _thread: LoopThread

    def describe_log_dirs(
        self, broker_ids: Iterable[int], *, timeout: float | None = None
    ) -> dict[int, dict[str, admin.LogDirDescription]]:
        """Return the log directories of brokers with what is in them, by broker and path."""
        return self._thread.call(self._core.replicas.describe_log_dirs(broker_ids, timeout=timeout))

    def describe_replica_log_dirs(
        self, replicas: Iterable[admin.TopicPartitionReplica], *, timeout: float | None = None
    ) -> dict[admin.TopicPartitionReplica, admin.ReplicaLogDir]:
        """Return in which log directory replicas are, and to which one they are on their way."""
        return self._thread.call(
            self._core.replicas.describe_replica_log_dirs(replicas, timeout=timeout)
        )

    def alter_replica_log_dirs(
        self, paths: Mapping[admin.TopicPartitionReplica, str], *, timeout: float | None = None
    ) -> None:
        """Move replicas to other log directories of their brokers; the moves go on after the call.

        Raises :class:`LogDirNotFoundError` if the broker has no such directory.
        """
        self._thread.call(self._core.replicas.alter_replica_log_dirs(paths, timeout=timeout))

    def elect_leaders(
        self,
        election_type: admin.ElectionType,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        timeout: float | None = None,
    ) -> dict[TopicPartition, bool]:
        """Let partitions, by default all, elect their leaders.

        Return by partition whether it has another leader now; False if it needed none. Of all
        partitions only those with an election are returned.
        """
        return self._thread.call(
            self._core.replicas.elect_leaders(election_type, partitions, timeout=timeout)
        )

    def alter_partition_reassignments(
        self,
        replicas: Mapping[TopicPartition, Sequence[int] | None],
        *,
        allow_replication_factor_change: bool = True,
        timeout: float | None = None,
    ) -> None:
        """Move partitions to these brokers, the preferred leader first; None cancels a move.

        Raises :class:`NoReassignmentInProgressError` if there is none to cancel. The moves go on
        after the call.
        """
        self._thread.call(
            self._core.replicas.alter_partition_reassignments(
                replicas,
                allow_replication_factor_change=allow_replication_factor_change,
                timeout=timeout,
            )
        )

    def list_partition_reassignments(
        self, partitions: Iterable[TopicPartition] | None = None, *, timeout: float | None = None
    ) -> dict[TopicPartition, admin.PartitionReassignment]:
        """Return which of these partitions, by default of all, are moving."""
        return self._thread.call(
            self._core.replicas.list_partition_reassignments(partitions, timeout=timeout)
        )
