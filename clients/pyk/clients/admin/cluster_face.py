"""The methods of the admin clients about replicas, and about the cluster as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pyk.clients.admin.configs import ConfigResource, ConfigResourceType
from pyk.clients.admin.core import AdminCore
from pyk.clients.admin.features import FeatureMetadata, FeatureUpdate
from pyk.clients.admin.quorums import ElectionType, QuorumInfo
from pyk.clients.admin.replica_places import (
    LogDirDescription,
    PartitionReassignment,
    ReplicaLogDir,
    TopicPartitionReplica,
)
from pyk.clients.engine.thread import LoopThread
from pyk.clients.topic_partition import TopicPartition


class AsyncClusterAdmin:
    """The part of :class:`AsyncAdmin` that is about replicas and the cluster."""

    _core: AdminCore

    async def describe_log_dirs(
        self, broker_ids: Iterable[int], *, timeout: float | None = None
    ) -> dict[int, dict[str, LogDirDescription]]:
        """Return the log directories of brokers with what is in them, by broker and path."""
        return await self._core.replicas.describe_log_dirs(broker_ids, timeout=timeout)

    async def describe_replica_log_dirs(
        self, replicas: Iterable[TopicPartitionReplica], *, timeout: float | None = None
    ) -> dict[TopicPartitionReplica, ReplicaLogDir]:
        """Return in which log directory replicas are, and to which one they are on their way."""
        return await self._core.replicas.describe_replica_log_dirs(replicas, timeout=timeout)

    async def alter_replica_log_dirs(
        self, paths: Mapping[TopicPartitionReplica, str], *, timeout: float | None = None
    ) -> None:
        """Move replicas to other log directories of their brokers; the moves go on after the call.

        Raises :class:`LogDirNotFoundError` if the broker has no such directory.
        """
        await self._core.replicas.alter_replica_log_dirs(paths, timeout=timeout)

    async def elect_leaders(
        self,
        election_type: ElectionType,
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
    ) -> dict[TopicPartition, PartitionReassignment]:
        """Return which of these partitions, by default of all, are moving."""
        return await self._core.replicas.list_partition_reassignments(partitions, timeout=timeout)

    async def describe_metadata_quorum(self, *, timeout: float | None = None) -> QuorumInfo:
        """Return the quorum of the metadata log, and how far each of its nodes is (KIP-595)."""
        return await self._core.cluster.describe_metadata_quorum(timeout=timeout)

    async def unregister_broker(self, broker_id: int, *, timeout: float | None = None) -> None:
        """Let the cluster forget a broker that has stopped for good.

        Raises :class:`BrokerIdNotRegisteredError` if it is not known.
        """
        await self._core.cluster.unregister_broker(broker_id, timeout=timeout)

    async def list_config_resources(
        self, types: Iterable[ConfigResourceType] = (), *, timeout: float | None = None
    ) -> list[ConfigResource]:
        """Return what has, or may have, settings of its own: of these types, by default of all.

        Needs a broker since 4.1 (KIP-1142), for client metrics alone since 3.7.
        """
        return await self._core.cluster.list_config_resources(types, timeout=timeout)

    async def describe_features(self, *, timeout: float | None = None) -> FeatureMetadata:
        """Return the features that a broker supports, and the levels of the cluster (KIP-584)."""
        return await self._core.cluster.describe_features(timeout=timeout)

    async def update_features(
        self,
        updates: Iterable[FeatureUpdate],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Raise or lower the levels of features, all or none, or only check that it is possible."""
        await self._core.cluster.update_features(
            updates, validate_only=validate_only, timeout=timeout
        )


class ClusterAdmin:
    """The part of :class:`Admin` that is about replicas and the cluster."""

    _core: AdminCore
    _thread: LoopThread

    def describe_log_dirs(
        self, broker_ids: Iterable[int], *, timeout: float | None = None
    ) -> dict[int, dict[str, LogDirDescription]]:
        """Return the log directories of brokers with what is in them, by broker and path."""
        return self._thread.call(self._core.replicas.describe_log_dirs(broker_ids, timeout=timeout))

    def describe_replica_log_dirs(
        self, replicas: Iterable[TopicPartitionReplica], *, timeout: float | None = None
    ) -> dict[TopicPartitionReplica, ReplicaLogDir]:
        """Return in which log directory replicas are, and to which one they are on their way."""
        return self._thread.call(
            self._core.replicas.describe_replica_log_dirs(replicas, timeout=timeout)
        )

    def alter_replica_log_dirs(
        self, paths: Mapping[TopicPartitionReplica, str], *, timeout: float | None = None
    ) -> None:
        """Move replicas to other log directories of their brokers; the moves go on after the call.

        Raises :class:`LogDirNotFoundError` if the broker has no such directory.
        """
        self._thread.call(self._core.replicas.alter_replica_log_dirs(paths, timeout=timeout))

    def elect_leaders(
        self,
        election_type: ElectionType,
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
    ) -> dict[TopicPartition, PartitionReassignment]:
        """Return which of these partitions, by default of all, are moving."""
        return self._thread.call(
            self._core.replicas.list_partition_reassignments(partitions, timeout=timeout)
        )

    def describe_metadata_quorum(self, *, timeout: float | None = None) -> QuorumInfo:
        """Return the quorum of the metadata log, and how far each of its nodes is (KIP-595)."""
        return self._thread.call(self._core.cluster.describe_metadata_quorum(timeout=timeout))

    def unregister_broker(self, broker_id: int, *, timeout: float | None = None) -> None:
        """Let the cluster forget a broker that has stopped for good.

        Raises :class:`BrokerIdNotRegisteredError` if it is not known.
        """
        self._thread.call(self._core.cluster.unregister_broker(broker_id, timeout=timeout))

    def list_config_resources(
        self, types: Iterable[ConfigResourceType] = (), *, timeout: float | None = None
    ) -> list[ConfigResource]:
        """Return what has, or may have, settings of its own: of these types, by default of all.

        Needs a broker since 4.1 (KIP-1142), for client metrics alone since 3.7.
        """
        return self._thread.call(self._core.cluster.list_config_resources(types, timeout=timeout))

    def describe_features(self, *, timeout: float | None = None) -> FeatureMetadata:
        """Return the features that a broker supports, and the levels of the cluster (KIP-584)."""
        return self._thread.call(self._core.cluster.describe_features(timeout=timeout))

    def update_features(
        self,
        updates: Iterable[FeatureUpdate],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Raise or lower the levels of features, all or none, or only check that it is possible."""
        self._thread.call(
            self._core.cluster.update_features(
                updates, validate_only=validate_only, timeout=timeout
            )
        )
