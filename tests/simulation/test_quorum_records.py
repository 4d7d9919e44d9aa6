"""What the metadata log says of its quorum, over restarts and snapshots."""

from __future__ import annotations

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.control_records import LeaderChangeMessage
from pyk.protocol.messages.metadata_records import FeatureLevelRecord
from pyk.protocol.messages.unregister_broker import UnregisterBrokerRequest
from pyk.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from pyk.protocol.records import RecordBatch, read_batches
from pyk.reference_broker.bootstrap_file import BOOTSTRAP_FILE
from pyk.reference_broker.controller.control_records import decode_control
from pyk.reference_broker.controller.snapshot_format import encode_snapshot
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.storage import StorageError
from pyk.runtime.filesystem.atomic_write import write_atomically
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.virtual_time import virtual_time
from support.groups import offset
from support.nodes import DATA, Node, now, running


def upgrade(node: Node) -> int:
    update = FeatureUpdateKey(feature="kraft.version", max_version_level=1)
    response = now(
        node.broker.services.controller.send(UpdateFeaturesRequest(feature_updates=[update]))
    )
    code: int = response.error_code
    return code


@pytest.mark.parametrize("bytes_between_snapshots", ["1", "100000000"])
@virtual_time
async def test_the_voters_are_known_again_from_the_log_and_from_a_snapshot(
    bytes_between_snapshots: str,
) -> None:
    filesystem = MemoryFileSystem()
    often = {"metadata_log_max_record_bytes_between_snapshots": bytes_between_snapshots}

    async with running(filesystem, **often) as node:
        assert upgrade(node) == 0
        await node.create("orders", flush_messages="1")
        voters, offset = node.image.voters, node.image.record_count
        assert offset == node.decided_image.record_count

    async with running(filesystem, **often) as node:
        assert voters is not None
        assert voters.voters[0].voter_directory_id == node.broker._logs.data_directory.id
        assert node.image.features["kraft.version"] == 1
        assert node.image.voters == node.decided_image.voters == voters
        assert node.image.record_count > offset
        assert "orders" in node.image.topics


def bootstrap(*levels: tuple[str, int]) -> bytes:
    records = [FeatureLevelRecord(name=name, feature_level=level) for name, level in levels]
    return encode_snapshot(records, 0, 0, 0)


def formatted(content: bytes) -> MemoryFileSystem:
    """Return a file system whose data directory was formatted, and never used."""
    filesystem = MemoryFileSystem()
    for path in ("/srv", "/srv/kafka", DATA):
        filesystem.make_directory(path)
    write_atomically(filesystem, f"{DATA}/{BOOTSTRAP_FILE}", content)
    return filesystem


@virtual_time
async def test_a_new_cluster_has_the_features_that_its_directory_was_formatted_for() -> None:
    filesystem = formatted(bootstrap(("metadata.version", 12), ("group.version", 1)))

    async with running(filesystem) as node:
        await node.create("orders", flush_messages="1")
        assert node.image.features == {"metadata.version": 12, "group.version": 1}
        assert node.image.configs.get((4, "")) is None

    async with running(filesystem) as node:
        assert node.image.features == {"metadata.version": 12, "group.version": 1}
        assert "orders" in node.image.topics


@virtual_time
async def test_a_directory_that_was_not_formatted_gets_the_file_at_its_first_start() -> None:
    filesystem = MemoryFileSystem()

    async with running(filesystem) as node:
        features = dict(node.image.features)
    file = filesystem.open(f"{DATA}/{BOOTSTRAP_FILE}")
    content = file.read_at(0, file.size())

    async with running(formatted(content)) as node:
        assert node.image.features == features


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "bootstrap.checkpoint is damaged: it ends early"),
        (bootstrap(("metadata.version", 30))[:-1], "is damaged"),
        (bootstrap(("group.version", 1)), "says nothing of metadata.version"),
        (bootstrap(("metadata.version", 31)), "metadata.version 31, which this broker cannot run"),
        (bootstrap(("metadata.version", 30), ("new.version", 1)), "asks for new.version 1"),
    ],
)
@virtual_time
async def test_a_bootstrap_file_that_cannot_be_used_ends_the_start(
    content: bytes, why: str
) -> None:
    with pytest.raises(StorageError, match=why):
        await Node(formatted(content)).start()


@virtual_time
async def test_each_start_begins_with_a_leader_change() -> None:
    filesystem = MemoryFileSystem()
    ends = []
    for _ in range(3):
        async with running(filesystem) as node:
            log = node.broker.controller._log._partition.log
            (batch, *_) = read_batches(log.reader.read(ends[-1] if ends else 0, 1 << 20).read())
            assert isinstance(batch, RecordBatch)
            (record,) = batch
            message = decode_control(record.key or b"", record.value)
            assert isinstance(message, LeaderChangeMessage)
            assert (message.leader_id, batch.partition_leader_epoch) == (0, len(ends) + 1)
            ends.append(log.log_end_offset)
            await node.broker.stop()


@virtual_time
async def test_a_broker_that_is_unregistered_leads_nothing_until_it_starts_again() -> None:
    filesystem = MemoryFileSystem()
    async with running(filesystem) as node:
        await node.create_groups_topic()
        await node.create("orders", flush_messages="1")
        assert node.append("orders", b"one")
        offsets = [offset(1, topic="orders")]
        assert node.commit(offsets) is ErrorCode.NONE

        response = now(node.broker.services.controller.send(UnregisterBrokerRequest(broker_id=0)))

        assert response.error_code == ErrorCode.NONE
        assert node.image.brokers == {}
        assert not node.partition("orders").is_leader
        with pytest.raises(ApiError) as raised:
            node.group()
        assert raised.value.code is ErrorCode.NOT_COORDINATOR
        await node.broker.stop()

    async with running(filesystem) as node:
        assert set(node.image.brokers) == {0}
        assert node.partition("orders").is_leader
        assert node.values("orders") == [b"one"]
        assert node.committed("orders") == 1
        partition = node.image.topics["orders"].partitions[0]
        assert (partition.leader, partition.leader_epoch, partition.isr) == (0, 2, (0,))
        assert partition.eligible_leader_replicas == partition.last_known_elr == ()
