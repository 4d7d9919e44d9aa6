"""The methods of the admin clients about the cluster, its quorum and its features."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from pyk.clients import admin
from pyk.clients.admin.core import AdminCore
from pyk.clients.engine.thread import LoopThread


class AsyncClusterAdmin:
    """The part of :class:`AsyncAdmin` that is about the cluster, its quorum and its features."""

    _core: AdminCore

    async def describe_cluster(
        self,
        *,
        fenced_brokers: bool = False,
        authorized_operations: bool = False,
        timeout: float | None = None,
    ) -> admin.ClusterDescription:
        """Return the cluster's id, controller and brokers, as one broker sees them now.

        ``fenced_brokers`` also returns those that are registered but do not serve (brokers since
        4.0), ``authorized_operations`` what the caller may do with the cluster.
        """
        return await self._core.cluster.describe_cluster(
            fenced_brokers=fenced_brokers,
            authorized_operations=authorized_operations,
            timeout=timeout,
        )

    async def describe_metadata_quorum(self, *, timeout: float | None = None) -> admin.QuorumInfo:
        """Return the quorum of the metadata log, and how far each of its nodes is (KIP-595)."""
        return await self._core.cluster.describe_metadata_quorum(timeout=timeout)

    async def add_raft_voter(
        self,
        voter_id: int,
        directory_id: UUID,
        endpoints: Iterable[admin.RaftVoterEndpoint],
        *,
        cluster_id: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Let a controller, which has nearly caught up, vote in the metadata quorum (KIP-853).

        With ``cluster_id``, only in the cluster of this id. Raises :class:`DuplicateVoterError` if
        it votes already, and :class:`UnsupportedVersionError` if ``kraft.version`` is 0.
        """
        await self._core.cluster.add_raft_voter(
            voter_id, directory_id, endpoints, cluster_id=cluster_id, timeout=timeout
        )

    async def remove_raft_voter(
        self,
        voter_id: int,
        directory_id: UUID,
        *,
        cluster_id: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Take a controller out of the voters of the metadata quorum (KIP-853).

        Raises :class:`VoterNotFoundError` if it does not vote, and
        :class:`UnsupportedVersionError` if ``kraft.version`` is 0.
        """
        await self._core.cluster.remove_raft_voter(
            voter_id, directory_id, cluster_id=cluster_id, timeout=timeout
        )

    async def unregister_broker(self, broker_id: int, *, timeout: float | None = None) -> None:
        """Let the cluster forget a broker that has stopped for good.

        Raises :class:`BrokerIdNotRegisteredError` if it is not known.
        """
        await self._core.cluster.unregister_broker(broker_id, timeout=timeout)

    async def describe_features(
        self, *, broker_id: int | None = None, timeout: float | None = None
    ) -> admin.FeatureMetadata:
        """Return the features that a broker supports, and the levels of the cluster (KIP-584)."""
        return await self._core.cluster.describe_features(broker_id=broker_id, timeout=timeout)

    async def update_features(
        self,
        updates: Iterable[admin.FeatureUpdate],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Raise or lower the levels of features, all or none, or only check that it is possible."""
        await self._core.cluster.update_features(
            updates, validate_only=validate_only, timeout=timeout
        )

    async def list_config_resources(
        self, types: Iterable[admin.ConfigResourceType] = (), *, timeout: float | None = None
    ) -> list[admin.ConfigResource]:
        """Return what has, or may have, settings of its own: of these types, by default of all.

        Needs a broker since 4.1 (KIP-1142), for client metrics alone since 3.7.
        """
        return await self._core.cluster.list_config_resources(types, timeout=timeout)

    async def list_client_metrics_resources(
        self, *, timeout: float | None = None
    ) -> list[admin.ConfigResource]:
        """Return the subscriptions to client metrics; short for :meth:`list_config_resources`."""
        return await self._core.cluster.list_config_resources(
            [admin.ConfigResourceType.CLIENT_METRICS], timeout=timeout
        )


class ClusterAdmin:
    """The part of :class:`Admin` that is about the cluster, its quorum and its features."""

    _core: AdminCore
    _thread: LoopThread

    def describe_cluster(
        self,
        *,
        fenced_brokers: bool = False,
        authorized_operations: bool = False,
        timeout: float | None = None,
    ) -> admin.ClusterDescription:
        """Return the cluster's id, controller and brokers, as one broker sees them now.

        ``fenced_brokers`` also returns those that are registered but do not serve (brokers since
        4.0), ``authorized_operations`` what the caller may do with the cluster.
        """
        return self._thread.call(
            self._core.cluster.describe_cluster(
                fenced_brokers=fenced_brokers,
                authorized_operations=authorized_operations,
                timeout=timeout,
            )
        )

    def describe_metadata_quorum(self, *, timeout: float | None = None) -> admin.QuorumInfo:
        """Return the quorum of the metadata log, and how far each of its nodes is (KIP-595)."""
        return self._thread.call(self._core.cluster.describe_metadata_quorum(timeout=timeout))

    def add_raft_voter(
        self,
        voter_id: int,
        directory_id: UUID,
        endpoints: Iterable[admin.RaftVoterEndpoint],
        *,
        cluster_id: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Let a controller, which has nearly caught up, vote in the metadata quorum (KIP-853).

        With ``cluster_id``, only in the cluster of this id. Raises :class:`DuplicateVoterError` if
        it votes already, and :class:`UnsupportedVersionError` if ``kraft.version`` is 0.
        """
        self._thread.call(
            self._core.cluster.add_raft_voter(
                voter_id, directory_id, endpoints, cluster_id=cluster_id, timeout=timeout
            )
        )

    def remove_raft_voter(
        self,
        voter_id: int,
        directory_id: UUID,
        *,
        cluster_id: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Take a controller out of the voters of the metadata quorum (KIP-853).

        Raises :class:`VoterNotFoundError` if it does not vote, and
        :class:`UnsupportedVersionError` if ``kraft.version`` is 0.
        """
        self._thread.call(
            self._core.cluster.remove_raft_voter(
                voter_id, directory_id, cluster_id=cluster_id, timeout=timeout
            )
        )

    def unregister_broker(self, broker_id: int, *, timeout: float | None = None) -> None:
        """Let the cluster forget a broker that has stopped for good.

        Raises :class:`BrokerIdNotRegisteredError` if it is not known.
        """
        self._thread.call(self._core.cluster.unregister_broker(broker_id, timeout=timeout))

    def describe_features(
        self, *, broker_id: int | None = None, timeout: float | None = None
    ) -> admin.FeatureMetadata:
        """Return the features that a broker supports, and the levels of the cluster (KIP-584)."""
        return self._thread.call(
            self._core.cluster.describe_features(broker_id=broker_id, timeout=timeout)
        )

    def update_features(
        self,
        updates: Iterable[admin.FeatureUpdate],
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

    def list_config_resources(
        self, types: Iterable[admin.ConfigResourceType] = (), *, timeout: float | None = None
    ) -> list[admin.ConfigResource]:
        """Return what has, or may have, settings of its own: of these types, by default of all.

        Needs a broker since 4.1 (KIP-1142), for client metrics alone since 3.7.
        """
        return self._thread.call(self._core.cluster.list_config_resources(types, timeout=timeout))

    def list_client_metrics_resources(
        self, *, timeout: float | None = None
    ) -> list[admin.ConfigResource]:
        """Return the subscriptions to client metrics; short for :meth:`list_config_resources`."""
        return self._thread.call(
            self._core.cluster.list_config_resources(
                [admin.ConfigResourceType.CLIENT_METRICS], timeout=timeout
            )
        )
