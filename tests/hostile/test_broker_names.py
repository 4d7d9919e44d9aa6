"""Hostile names, numbers and values: typed errors, and no file outside the data directory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.api_versions import ApiVersionsRequest
from pyk.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pyk.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pyk.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pyk.reference_broker import AsyncCluster
from support.broker_requests import TOPIC, commit, find_coordinator, join
from support.raw_client import RawClient

BAD_NAMES = ["..", ".", "a/b", "../../tmp/x", "a\0b", "x" * 250, "ünï", "trailing ", "", "a\\b"]
ODD_GROUPS = ["a/b", "../..", "a\0b", "new\nline", "x" * 30_000, "\U0001f600", " "]


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[RawClient]:
    async with AsyncCluster(data_dir=tmp_path / "inside") as cluster:
        await cluster.create_topic(TOPIC)
        async with RawClient(cluster.bootstrap) as client:
            yield client


def directories(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_dir()}


@pytest.mark.parametrize("name", BAD_NAMES)
async def test_no_topic_name_creates_a_file_outside_the_data_directory(
    client: RawClient, tmp_path: Path, name: str
) -> None:
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    created = await client.ask(CreateTopicsRequest(topics=[topic]))
    asked = await client.ask(MetadataRequest(topics=[MetadataRequestTopic(name=name)]))

    assert created.topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert asked.topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert directories(tmp_path) == {"inside"}
    assert directories(tmp_path / "inside" / "node0") == {"__cluster_metadata-0", f"{TOPIC}-0"}


@pytest.mark.parametrize("group", ODD_GROUPS)
async def test_a_group_id_may_be_any_str(client: RawClient, tmp_path: Path, group: str) -> None:
    await client.ask(find_coordinator(group))

    committed = await client.ask(commit(3, group=group), 9)
    told = await client.ask(join(group=group))

    assert committed.topics[0].partitions[0].error_code == ErrorCode.NONE
    assert told.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert directories(tmp_path) == {"inside"}


@pytest.mark.parametrize("name", ["", "-x", "x_", "x\n", "x" * 20_000 + "!"])
async def test_an_invalid_client_software_name_is_refused(client: RawClient, name: str) -> None:
    answered = await client.ask(
        ApiVersionsRequest(client_software_name=name, client_software_version="1"), 3
    )

    assert answered.error_code == ErrorCode.INVALID_REQUEST
    assert answered.api_keys == []


async def test_a_request_for_too_many_topics_is_refused_as_a_whole(client: RawClient) -> None:
    topics = [
        CreatableTopic(name=f"t_{number}", num_partitions=1, replication_factor=1)
        for number in range(20_000)
    ]

    created = await client.ask(CreateTopicsRequest(topics=topics))

    assert {each.error_code for each in created.topics} == {ErrorCode.POLICY_VIOLATION}
    assert len((await client.ask(MetadataRequest(topics=None))).topics) == 1


async def test_commit_metadata_above_the_limit_is_refused(client: RawClient) -> None:
    await client.ask(find_coordinator())
    partition = OffsetCommitRequestPartition(
        partition_index=0, committed_offset=1, committed_metadata="x" * 30_000
    )
    topic = OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])

    committed = await client.ask(OffsetCommitRequest(group_id="g", topics=[topic]), 9)

    assert committed.topics[0].partitions[0].error_code == ErrorCode.OFFSET_METADATA_TOO_LARGE
