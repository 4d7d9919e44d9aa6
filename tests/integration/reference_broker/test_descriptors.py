"""A broker with few descriptors serves any number of partitions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pyk.reference_broker import AsyncCluster
from pyk.runtime.filesystem import OsFileSystem
from support.broker_requests import create_topic, fetch, produce
from support.raw_client import RawClient, batch

PARTITIONS = 40


class FewDescriptors(OsFileSystem):
    """A process with a limit of 32 file descriptors."""

    @property
    def max_open_files(self) -> int:
        return 32


@pytest.fixture
def filesystem() -> OsFileSystem:
    return FewDescriptors()


def open_logs(folder: Path) -> int:
    links = (os.readlink(link) for link in Path("/proc/self/fd").iterdir() if link.is_symlink())
    return sum(link.startswith(str(folder)) and link.endswith(".log") for link in links)


async def test_written_partitions_keep_within_their_share_of_file_descriptors(
    filesystem: OsFileSystem, tmp_path: Path
) -> None:
    async with (
        AsyncCluster(data_dir=tmp_path, filesystem=filesystem) as cluster,
        RawClient(cluster.bootstrap) as client,
    ):
        await client.ask(create_topic(partitions=PARTITIONS))
        for turn in range(2):
            for number in range(PARTITIONS):
                answer = await client.ask(produce(batch(b"%d" % turn), partition=number), 12)
                (result,) = answer.responses[0].partition_responses
                assert result.base_offset == turn
                assert open_logs(tmp_path) <= 8
        for number in range(PARTITIONS):
            fetched = await client.ask(fetch(0, partition=number), 12)
            assert fetched.responses[0].partitions[0].high_watermark == 2
            assert open_logs(tmp_path) <= 8
