"""The quorum of the metadata log: described and changed with the answers of Apache Kafka 4.3.1."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from pyk.clients import Admin, FeatureUpdate, RaftVoterEndpoint
from pyk.clients.errors import DuplicateVoterError, UnsupportedVersionError, VoterNotFoundError
from pyk.protocol.messages.add_raft_voter import AddRaftVoterRequest, Listener
from pyk.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    RequestPartitionData,
    RequestTopicData,
)
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest
from pyk.protocol.messages.unregister_broker import UnregisterBrokerRequest
from pyk.reference_broker.storage.partition_metadata import encode_id
from support.apache_kafka import ApacheKafka, free_ports, new_cluster_id
from support.feature_steps import carry_out
from support.new_brokers import NewBroker
from support.raw_client import RawClient
from support.real_time import eventually

UPGRADE = {"updates": [["kraft.version", 1, 1]], "version": 2, "validate_only": False}
NOBODY, OTHER = UUID(int=0), UUID(int=7)
INVALID, UNSUPPORTED, TIMED_OUT, DUPLICATE, NOT_FOUND = 42, 35, 7, 126, 127


async def described(client: RawClient, version: int = 2) -> Any:
    partitions = [RequestPartitionData(partition_index=0)]
    topics = [RequestTopicData(topic_name="__cluster_metadata", partitions=partitions)]
    return await client.ask(DescribeQuorumRequest(topics=topics), version)


async def listener_name(client: RawClient) -> str:
    """Return what the listener of the voter is called, which differs."""
    name: str = (await described(client)).nodes[0].listeners[0].name
    return name


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_every_field_of_the_description_is_that_of_kafka(
    new_broker: NewBroker, version: int
) -> None:
    async with RawClient(new_broker.bootstrap) as client:
        name = await listener_name(client)
        before = int(time.time() * 1000)
        told = (await described(client, version)).to_json(version)
        after = int(time.time() * 1000)

    partition = told["topics"][0]["partitions"][0]
    (voter,) = partition["currentVoters"]
    assert voter.pop("logEndOffset") >= partition.pop("highWatermark") > 0
    expected_voter: dict[str, Any] = {"replicaId": 0}
    expected_partition: dict[str, Any] = {
        "partitionIndex": 0, "errorCode": 0, "leaderId": 0, "leaderEpoch": 1,
        "currentVoters": [expected_voter], "observers": [],
    }  # fmt: skip
    expected: dict[str, Any] = {
        "errorCode": 0,
        "topics": [{"topicName": "__cluster_metadata", "partitions": [expected_partition]}],
    }
    if version >= 1:
        moments = voter.pop("lastFetchTimestamp"), voter.pop("lastCaughtUpTimestamp")
        assert before <= moments[0] == moments[1] <= after
    if version >= 2:
        expected_voter["replicaDirectoryId"] = str(NOBODY)
        expected_partition["errorMessage"] = expected["errorMessage"] = ""
        ((node,),) = (told.pop("nodes"),)
        assert (node["nodeId"], node["listeners"][0]["name"]) == (0, name)
    assert told == expected


async def test_the_directory_of_a_voter_is_told_once_the_log_names_voters(
    new_broker: NewBroker,
) -> None:
    async with RawClient(new_broker.bootstrap) as client:
        await carry_out(client, UPGRADE)
        voter = (await described(client)).topics[0].partitions[0].current_voters[0]

    properties = (new_broker.data_folder() / "meta.properties").read_text()
    assert f"directory.id={encode_id(voter.replica_directory_id)}" in properties


async def answer(client: RawClient, request: Any, version: int = 0) -> tuple[int, str]:
    response = await client.ask(request, version)
    return response.error_code, response.error_message


def add(voter_id: int, directory_id: UUID, *listeners: str, **more: Any) -> AddRaftVoterRequest:
    return AddRaftVoterRequest(
        voter_id=voter_id,
        voter_directory_id=directory_id,
        listeners=[Listener(name=name, host="127.0.0.1", port=1) for name in listeners],
        timeout_ms=1000,
        **{"cluster_id": None, **more},
    )


def remove(voter_id: int, directory_id: UUID, **more: Any) -> RemoveRaftVoterRequest:
    return RemoveRaftVoterRequest(
        voter_id=voter_id, voter_directory_id=directory_id, **{"cluster_id": None, **more}
    )


async def test_voters_of_a_fixed_quorum_cannot_change(new_broker: NewBroker) -> None:
    async with RawClient(new_broker.bootstrap) as client:
        name = await listener_name(client)
        no_voter = (INVALID, "Add voter request didn't include a valid voter")
        why = "voter because the kraft.version feature is 0"

        assert await answer(client, add(5, NOBODY, name)) == no_voter
        assert await answer(client, add(-1, OTHER, name)) == no_voter
        given = "{ListenerName(ELSE)=127.0.0.1/<unresolved>:1}"
        for listeners, shown in (((), "{}"), (("ELSE",), given)):
            code, message = await answer(client, add(5, OTHER, *listeners))
            assert code == INVALID
            assert message == (
                f"Add voter request didn't include the endpoint (Endpoints(endpoints={shown})) for "
                f"the default listener ListenerName({name})"
            )
        for version in (0, 1):
            refused = await answer(client, add(5, OTHER, name), version)
            assert refused == (UNSUPPORTED, f"Cluster doesn't support adding {why}")
        assert await answer(client, remove(0, NOBODY)) == (
            INVALID, "Remove voter request didn't include a valid voter",
        )  # fmt: skip
        assert await answer(client, remove(0, OTHER)) == (
            UNSUPPORTED, f"Cluster doesn't support removing {why}",
        )  # fmt: skip
        for request in (add(5, OTHER, name, cluster_id="x"), remove(0, OTHER, cluster_id="x")):
            code, message = await answer(client, request)
            assert code == 104
            assert message.startswith('The given id "x" doesn\'t match the cluster id "')


async def test_the_only_voter_stays_and_one_that_does_not_run_is_not_added(
    new_broker: NewBroker,
) -> None:
    async with RawClient(new_broker.bootstrap) as client:
        name = await listener_name(client)
        await carry_out(client, UPGRADE)
        own = (await described(client)).topics[0].partitions[0].current_voters[0]
        own_id = own.replica_directory_id
        voters = f"[ReplicaKey(id=0, directoryId={encode_id(own_id)})]"

        for directory in (own_id, OTHER):
            key = f"ReplicaKey(id=0, directoryId={encode_id(directory)})"
            assert await answer(client, add(0, directory, name)) == (
                DUPLICATE, f"The voter id for {key} is already part of the set of voters {voters}.",
            )  # fmt: skip
            assert await answer(client, remove(0, directory)) == (
                NOT_FOUND, f"Cannot remove voter {key} from the set of voters {voters}",
            )  # fmt: skip
        code, _ = await answer(client, add(5, OTHER, name))
        assert code == TIMED_OUT


async def test_a_running_broker_can_be_unregistered_once(new_broker: NewBroker) -> None:
    async with RawClient(new_broker.bootstrap) as client:
        unknown = (102, "Broker ID 0 is not currently registered")

        assert await answer(client, UnregisterBrokerRequest(broker_id=0)) == (0, "")
        for _ in range(100):
            metadata = await client.ask(MetadataRequest(topics=[]), 12)
            if not metadata.brokers:
                break
            await asyncio.sleep(0.02)
        assert (metadata.brokers, metadata.controller_id) == ([], -1)
        assert await answer(client, UnregisterBrokerRequest(broker_id=0)) == unknown


def test_the_admin_client_says_why_voters_cannot_change(new_broker: NewBroker) -> None:
    with Admin(new_broker.bootstrap) as admin:
        quorum = admin.describe_metadata_quorum()
        ((name, host, port),) = [
            (*first.split("://")[:1], *first.split("://")[1].rsplit(":", 1))
            for first in list(quorum.endpoints[0])[:1]
        ]
        endpoint = RaftVoterEndpoint(name, host, int(port))
        with pytest.raises(UnsupportedVersionError):
            admin.add_raft_voter(5, OTHER, [endpoint])
        admin.update_features([FeatureUpdate("kraft.version", 1)])
        eventually(lambda: admin.describe_features().finalized["kraft.version"] == (1, 1))
        with pytest.raises(DuplicateVoterError):
            admin.add_raft_voter(0, OTHER, [endpoint])
        with pytest.raises(VoterNotFoundError):
            admin.remove_raft_voter(5, OTHER)


@pytest.fixture
def dynamic(_apache_kafka_can_run: None) -> Iterator[list[ApacheKafka]]:
    """Two nodes of Apache Kafka, of which the first is the only voter."""
    ports, cluster_id = free_ports(2), new_cluster_id()
    nodes = [
        ApacheKafka(
            node_id=number, controller_ports=ports, cluster_id=cluster_id, has_dynamic_quorum=True
        )
        for number in range(2)
    ]
    try:
        nodes[0].format("--standalone")
        nodes[1].format("--no-initial-controllers")
        for node in nodes:
            node.start()
        yield nodes
    finally:
        for node in nodes:
            node.__exit__()


@pytest.mark.conformance
def test_the_admin_client_adds_and_removes_a_voter(dynamic: list[ApacheKafka]) -> None:
    with Admin(dynamic[0].bootstrap) as admin:

        def voters() -> set[int]:
            return {one.replica_id for one in admin.describe_metadata_quorum().voters}

        (observer,) = admin.describe_metadata_quorum().observers
        assert observer.replica_id == 1
        assert observer.directory_id is not None
        endpoint = RaftVoterEndpoint("CONTROLLER", "127.0.0.1", dynamic[1].controller_port)

        admin.add_raft_voter(1, observer.directory_id, [endpoint])
        eventually(lambda: voters() == {0, 1})
        admin.remove_raft_voter(1, observer.directory_id)
        eventually(lambda: voters() == {0})
