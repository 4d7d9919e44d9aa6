"""Calls about the cluster: its quorum, its brokers, its features, what can be configured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from pyk.clients.admin import cluster, features, quorums, raft_voters
from pyk.clients.admin.arguments import (
    checked_broker_id,
    checked_enum,
    checked_name,
    checked_node_id,
    several,
)
from pyk.clients.admin.calls import Calls, metadata_request
from pyk.clients.admin.cluster import ClusterDescription
from pyk.clients.admin.configs import ConfigResource, ConfigResourceType
from pyk.clients.admin.features import FeatureMetadata, FeatureUpdate
from pyk.clients.admin.quorums import QuorumInfo
from pyk.clients.admin.raft_voters import RaftVoterEndpoint
from pyk.clients.admin.routes import Route, ToAnyNode, ToController, ToNodes
from pyk.clients.engine.connection import VersionedRequest
from pyk.clients.engine.dialer import SOFTWARE_NAME
from pyk.clients.engine.metadata import MetadataUpdate
from pyk.clients.errors import KafkaError, UnsupportedVersionError, error_for
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.api_versions import ApiVersionsRequest
from pyk.protocol.messages.list_config_resources import ListConfigResourcesRequest
from pyk.protocol.messages.unregister_broker import UnregisterBrokerRequest
from pyk.protocol.version import __version__
from pyk.runtime.checked_arguments import checked_flag

WHOLE = "the cluster"


class ClusterCalls:
    """Carries out the calls about the cluster; :class:`AsyncAdmin` documents them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def describe_cluster(
        self, *, fenced_brokers: bool, authorized_operations: bool, timeout: float | None
    ) -> ClusterDescription:
        deadline = await self._calls.begin(timeout)
        request = cluster.describe_request(fenced=fenced_brokers, operations=authorized_operations)
        min_version = cluster.FIRST_VERSION_WITH_FENCED_BROKERS if fenced_brokers else None

        async def ask(node_id: int) -> ClusterDescription:
            try:
                response = await self._calls.send(
                    node_id, request, deadline, min_version=min_version
                )
            except UnsupportedVersionError:
                if fenced_brokers:
                    raise
                return await self._described_by_metadata(node_id, deadline, authorized_operations)
            return cluster.described_cluster(response)

        found: ClusterDescription = await self._one(ask, deadline, ToAnyNode(self._calls.client))
        return found

    async def _described_by_metadata(
        self, node_id: int, deadline: float, with_operations: bool
    ) -> ClusterDescription:
        request = metadata_request(())
        request.include_cluster_authorized_operations = with_operations
        response = await self._calls.send(
            node_id, request, deadline, min_version=8 if with_operations else None
        )
        operations = response.cluster_authorized_operations
        return cluster.described_by_metadata(MetadataUpdate.of(response), operations)

    async def describe_metadata_quorum(self, *, timeout: float | None) -> QuorumInfo:
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int) -> QuorumInfo:
            response = await self._calls.send(node_id, quorums.quorum_request(), deadline)
            return quorums.described_quorum(response)

        found: QuorumInfo = await self._one(ask, deadline, ToAnyNode(self._calls.client))
        return found

    async def unregister_broker(self, broker_id: int, *, timeout: float | None) -> None:
        wanted = checked_broker_id(broker_id)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int) -> KafkaError | None:
            response = await self._calls.send(
                node_id, UnregisterBrokerRequest(broker_id=wanted), deadline
            )
            if response.error_code == ErrorCode.NONE:
                return None
            return error_for(response.error_code, response.error_message, api_key=response.api_key)

        await self._one(ask, deadline, ToController(self._calls.client), is_change=True)

    async def add_raft_voter(
        self,
        voter_id: int,
        directory_id: UUID,
        endpoints: Iterable[RaftVoterEndpoint],
        *,
        cluster_id: str | None,
        timeout: float | None,
    ) -> None:
        voter = raft_voters.checked_voter(voter_id, directory_id)
        listeners = raft_voters.checked_endpoints(endpoints)
        cluster_id = None if cluster_id is None else checked_name(cluster_id, "a cluster id")
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int) -> KafkaError | None:
            timeout_ms = self._calls.remaining_ms(deadline)
            request = raft_voters.add_request(voter, listeners, cluster_id, timeout_ms)
            return raft_voters.outcome(await self._calls.send(node_id, request, deadline))

        await self._one(ask, deadline, ToAnyNode(self._calls.client), is_change=True)

    async def remove_raft_voter(
        self, voter_id: int, directory_id: UUID, *, cluster_id: str | None, timeout: float | None
    ) -> None:
        voter = raft_voters.checked_voter(voter_id, directory_id)
        cluster_id = None if cluster_id is None else checked_name(cluster_id, "a cluster id")
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int) -> KafkaError | None:
            request = raft_voters.remove_request(voter, cluster_id)
            return raft_voters.outcome(await self._calls.send(node_id, request, deadline))

        await self._one(ask, deadline, ToAnyNode(self._calls.client), is_change=True)

    async def list_config_resources(
        self, types: Iterable[ConfigResourceType], *, timeout: float | None
    ) -> list[ConfigResource]:
        single = isinstance(types, str | ConfigResourceType)
        given = (types,) if single else several(types, "ConfigResourceType")
        wanted = [checked_enum(one, ConfigResourceType, "a type of resources") for one in given]
        # Version 0 knows the subscriptions to client metrics and nothing else.
        min_version = 0 if wanted == [ConfigResourceType.CLIENT_METRICS] else 1
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int) -> list[ConfigResource] | KafkaError:
            request = VersionedRequest(
                ListConfigResourcesRequest,
                lambda version: ListConfigResourcesRequest(
                    resource_types=list(map(int, wanted)) if version else []
                ),
            )
            response = await self._calls.send(node_id, request, deadline, min_version=min_version)
            if response.error_code != ErrorCode.NONE:
                return error_for(response.error_code, api_key=response.api_key)
            return sorted(
                ConfigResource(ConfigResourceType(one.resource_type), one.resource_name)
                for one in response.config_resources
            )

        found: list[ConfigResource] = await self._one(ask, deadline, ToAnyNode(self._calls.client))
        return found

    async def describe_features(
        self, *, broker_id: int | None, timeout: float | None
    ) -> FeatureMetadata:
        asked = checked_node_id(broker_id)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int) -> FeatureMetadata:
            request = ApiVersionsRequest(
                client_software_name=SOFTWARE_NAME, client_software_version=__version__
            )
            response = await self._calls.send(node_id, request, deadline)
            return features.described_features(response)

        route = ToNodes(self._calls.client, {WHOLE: asked})
        found: FeatureMetadata = await self._one(ask, deadline, route)
        return found

    async def update_features(
        self,
        updates: Iterable[FeatureUpdate],
        *,
        validate_only: bool,
        timeout: float | None,
    ) -> None:
        wanted = features.checked_updates(updates)
        validate_only = checked_flag(validate_only, "validate_only")
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[str]) -> Any:
            request = features.update_request(
                [wanted[name] for name in some],
                validate_only=validate_only,
                timeout_ms=self._calls.remaining_ms(deadline),
            )
            response = await self._calls.send(node_id, request, deadline, min_version=1)
            return features.updated(response, some)

        await self._calls.change(wanted, ToController(self._calls.client), ask, deadline)

    async def _one(
        self, ask: Any, deadline: float, route: Route, *, is_change: bool = False
    ) -> Any:
        """Return the result of a call about the cluster as a whole."""

        async def ask_node(node_id: int, _: Sequence[str]) -> Any:
            return {WHOLE: await ask(node_id)}

        carry_out = self._calls.change if is_change else self._calls.settle
        return (await carry_out([WHOLE], route, ask_node, deadline))[WHOLE]
