"""Calls about replicas: where their logs are, which leads, which are moving."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyk.clients.admin import quorums, replica_places
from pyk.clients.admin.arguments import (
    checked_enum,
    checked_name,
    checked_numbers,
    checked_partitions,
    checked_replicas,
    several,
)
from pyk.clients.admin.calls import Calls
from pyk.clients.admin.quorums import ElectionType
from pyk.clients.admin.replica_places import (
    LogDirDescription,
    PartitionReassignment,
    ReplicaLogDir,
    TopicPartitionReplica,
)
from pyk.clients.admin.routes import ToController, ToNodes
from pyk.clients.errors import (
    EligibleLeadersNotAvailableError,
    KafkaError,
    KafkaStorageError,
    PreferredLeaderNotAvailableError,
    ReplicaNotAvailableError,
    SeveralErrors,
)
from pyk.clients.topic_partition import TopicPartition

FIRST_VERSION_WITH_FIXED_REPLICATION_FACTOR = 1
FIRST_VERSION_WITH_ELECTION_TYPE = 1
ALL = "all partitions"

# A directory that has failed stays offline until its broker is restarted, and a replica that a
# broker does not have is not about to come: the broker only notes where it is to begin.
LASTING_OF_DIRECTORIES = (KafkaStorageError, ReplicaNotAvailableError)
# Somebody has to start a broker first.
LASTING_OF_ELECTIONS = (PreferredLeaderNotAvailableError, EligibleLeadersNotAvailableError)


class ReplicaCalls:
    """Carries out the calls about replicas; :class:`AsyncAdmin` documents them."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def describe_log_dirs(
        self, broker_ids: Iterable[int], *, timeout: float | None
    ) -> dict[int, dict[str, LogDirDescription]]:
        wanted = checked_numbers(broker_ids, "a broker id")
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[int]) -> Any:
            response = await self._calls.send(node_id, replica_places.log_dirs_request(), deadline)
            return {node_id: replica_places.described_log_dirs(response, node_id)}

        return await self._calls.settle(
            wanted, self._to({one: one for one in wanted}), ask, deadline
        )

    async def describe_replica_log_dirs(
        self, replicas: Iterable[TopicPartitionReplica], *, timeout: float | None
    ) -> dict[TopicPartitionReplica, ReplicaLogDir]:
        wanted = checked_replica_list(replicas)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[TopicPartitionReplica]) -> Any:
            places = {one: TopicPartition(one.topic, one.partition) for one in some}
            request = replica_places.log_dirs_request(places.values())
            response = await self._calls.send(node_id, request, deadline)
            directories = replica_places.described_log_dirs(response, node_id)
            return {
                one: replica_places.log_dir_of(directories, place) for one, place in places.items()
            }

        return await self._calls.settle(wanted, self._to_brokers_of(wanted), ask, deadline)

    async def alter_replica_log_dirs(
        self, paths: Mapping[TopicPartitionReplica, str], *, timeout: float | None
    ) -> None:
        wanted = checked_paths(paths)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, some: Sequence[TopicPartitionReplica]) -> Any:
            request = replica_places.move_log_dirs_request({one: wanted[one] for one in some})
            response = await self._calls.send(node_id, request, deadline)
            return replica_places.moved_log_dirs(response, node_id)

        await self._calls.change(wanted, self._to_brokers_of(wanted), ask, deadline)

    async def elect_leaders(
        self,
        election_type: ElectionType,
        partitions: Iterable[TopicPartition] | None,
        *,
        timeout: float | None,
    ) -> dict[TopicPartition, bool]:
        kind = checked_enum(election_type, ElectionType, "an election type")
        wanted = None if partitions is None else checked_partitions(partitions)
        deadline = await self._calls.begin(timeout)
        min_version = None if kind is ElectionType.PREFERRED else FIRST_VERSION_WITH_ELECTION_TYPE

        async def ask(node_id: int, some: Sequence[Any]) -> Any:
            asked = None if wanted is None else some
            request = quorums.election_request(kind, asked, self._calls.remaining_ms(deadline))
            response = await self._calls.send(node_id, request, deadline, min_version=min_version)
            found = quorums.elected(response)
            return found if wanted is not None else {ALL: found}

        items = [ALL] if wanted is None else wanted
        route = ToController(self._calls.client, lasting=LASTING_OF_ELECTIONS)
        found = await self._calls.change(items, route, ask, deadline)
        return found if wanted is not None else _outcomes(found[ALL])

    async def alter_partition_reassignments(
        self,
        replicas: Mapping[TopicPartition, Sequence[int] | None],
        *,
        allow_replication_factor_change: bool,
        timeout: float | None,
    ) -> None:
        wanted = checked_replicas(replicas)
        deadline = await self._calls.begin(timeout)
        min_version = None
        if not allow_replication_factor_change:
            min_version = FIRST_VERSION_WITH_FIXED_REPLICATION_FACTOR

        async def ask(node_id: int, some: Sequence[TopicPartition]) -> Any:
            request = replica_places.reassignments_request(
                {one: wanted[one] for one in some},
                allow_replication_factor_change=allow_replication_factor_change,
                timeout_ms=self._calls.remaining_ms(deadline),
            )
            return replica_places.reassigned(
                await self._calls.send(node_id, request, deadline, min_version=min_version)
            )

        await self._calls.change(wanted, ToController(self._calls.client), ask, deadline)

    async def list_partition_reassignments(
        self, partitions: Iterable[TopicPartition] | None, *, timeout: float | None
    ) -> dict[TopicPartition, PartitionReassignment]:
        wanted = None if partitions is None else checked_partitions(partitions)
        deadline = await self._calls.begin(timeout)

        async def ask(node_id: int, _: Sequence[str]) -> Any:
            request = replica_places.list_reassignments_request(
                wanted, self._calls.remaining_ms(deadline)
            )
            response = await self._calls.send(node_id, request, deadline)
            return {ALL: replica_places.listed_reassignments(response)}

        found = await self._calls.settle([ALL], ToController(self._calls.client), ask, deadline)
        moving: dict[TopicPartition, PartitionReassignment] = found[ALL]
        return moving

    def _to(self, node_ids: Mapping[Any, int | None]) -> ToNodes:
        return ToNodes(self._calls.client, node_ids)

    def _to_brokers_of(self, replicas: Iterable[TopicPartitionReplica]) -> ToNodes:
        nodes = {one: one.broker_id for one in replicas}
        return ToNodes(self._calls.client, nodes, lasting=LASTING_OF_DIRECTORIES)


def checked_replica_list(given: Any) -> list[TopicPartitionReplica]:
    """Return replicas; accept a single one as well."""
    form = "TopicPartitionReplica(topic, partition, broker_id)"
    listed = [given] if isinstance(given, TopicPartitionReplica) else list(several(given, form))
    for one in listed:
        if not isinstance(one, TopicPartitionReplica):
            raise TypeError(f"a replica must be {form}, not {one!r}")
    return listed


def checked_paths(given: Any) -> dict[TopicPartitionReplica, str]:
    """Return the log directories of replicas."""
    form = "{TopicPartitionReplica(topic, partition, broker_id): path}"
    if not isinstance(given, Mapping):
        raise TypeError(f"give {form}, not {given!r}")
    return {one: checked_name(given[one], "a path") for one in checked_replica_list(given)}


def _outcomes(found: Mapping[TopicPartition, Any]) -> dict[TopicPartition, bool]:
    """Return the outcomes of an election for all partitions, or raise the errors."""
    errors = {one: each for one, each in found.items() if isinstance(each, KafkaError)}
    results = {one: each for one, each in found.items() if one not in errors}
    if errors:
        raise SeveralErrors(f"{len(errors)} of {len(found)} failed", errors, results)
    return results
