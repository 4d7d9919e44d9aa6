"""What the metadata log says of its quorum, over restarts and snapshots."""

from __future__ import annotations

import pytest

from pyk.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.virtual_time import virtual_time
from support.nodes import Node, now, running


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
