"""Metadata snapshots: Apache Kafka's tool reads ours, and the reference broker loads Kafka's."""

from __future__ import annotations

import asyncio
import re
import signal
from pathlib import Path

import pytest

from pyk.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.controller.records import MetadataRecord
from pyk.reference_broker.controller.snapshot_format import SnapshotId
from pyk.reference_broker.metadata_snapshots import SnapshotFiles
from pyk.runtime.filesystem import OsFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.virtual_time import run_virtual
from support.apache_kafka import ApacheKafka
from support.kafka_tools import dump_log_segments, run_tool
from support.nodes import DATA, now, running

pytestmark = [pytest.mark.conformance, pytest.mark.usefixtures("_apache_kafka_can_run")]

OFTEN = {"metadata.log.max.record.bytes.between.snapshots": "300"}
DIRECTORY = "__cluster_metadata-0"


def test_apache_kafka_prints_the_records_of_our_snapshot(tmp_path: Path) -> None:
    memory = MemoryFileSystem()

    async def scenario() -> None:
        async with running(memory, **OFTEN) as node:
            upgrade = FeatureUpdateKey(feature="kraft.version", max_version_level=1)
            request = UpdateFeaturesRequest(feature_updates=[upgrade])
            assert now(node.broker.services.controller.send(request)).error_code == 0
            for number in range(5):
                await node.create(f"topic-{number}", 3, flush_messages="1")

    run_virtual(scenario())
    (*_, newest) = sorted(filter(SnapshotId.of_file, memory.list_directory(f"{DATA}/{DIRECTORY}")))
    file = memory.open(f"{DATA}/{DIRECTORY}/{newest}")
    copied = tmp_path / newest
    copied.write_bytes(file.read_at(0, file.size()))

    printed = dump_log_segments([copied], "--cluster-metadata-decoder")

    assert re.search(r"SnapshotHeader .*lastContainedLogTimestamp", printed)
    assert "SnapshotFooter" in printed
    assert 'KRaftVersion {"version":0,"kRaftVersion":1}' in printed
    assert 'KRaftVoters {"version":0,"voters":[{"voterId":0' in printed
    assert "isvalid: false" not in printed
    assert "TOPIC_RECORD" in printed
    assert "PARTITION_RECORD" in printed
    assert "Could not read" not in printed
    assert "Skipping" not in printed


def test_snapshot_of_apache_kafka_is_loaded() -> None:
    with ApacheKafka(config=OFTEN) as kafka:
        for name in ("one", "two"):
            run_tool(
                "TopicCommand", "--bootstrap-server", kafka.bootstrap,
                "--create", "--topic", name, "--partitions", "3",
            )  # fmt: skip
        asyncio.run(asyncio.sleep(2))
        kafka.kill(signal.SIGTERM)

        directory = kafka.data_folder() / DIRECTORY
        snapshot = SnapshotFiles(OsFileSystem(), str(directory)).load_newest()

    assert snapshot is not None
    assert snapshot.last_contained_time_ms > 0
    image = MetadataImage()
    for key, value in snapshot.records:
        image.replay(MetadataRecord.decode(key, value).message)
    assert {"one", "two"} <= set(image.topics)
    assert len(image.topics["one"].partitions) == 3
    assert image.features["metadata.version"] > 20
