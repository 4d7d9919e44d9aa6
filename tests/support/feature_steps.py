"""Updates of features, one after the other, with what a broker answers and writes down."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.api_versions import ApiVersionsRequest
from pyk.protocol.messages.metadata_records import ConfigRecord, FeatureLevelRecord
from pyk.protocol.messages.raft_records import KRaftVersionRecord, VotersRecord
from pyk.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from pyk.protocol.records import read_batches
from pyk.protocol.schema import Message
from pyk.reference_broker.controller.control_records import is_about_quorum
from pyk.reference_broker.controller.records import MetadataRecord
from support.raw_client import RawClient

METADATA_LOG = "__cluster_metadata-0/00000000000000000000.log"
TRIES, WAIT = 50, 0.02

Step = dict[str, Any]
"""``updates`` (name, level and upgrade type of each), ``version`` and ``validate_only``."""


async def carry_out(client: RawClient, step: Step) -> list[Any]:
    """Send one request; return the answer and the levels that are finalized then."""
    before = (await _told(client)).finalized_features_epoch
    request = UpdateFeaturesRequest(
        feature_updates=[
            FeatureUpdateKey(
                feature=name, max_version_level=level, upgrade_type=kind if step["version"] else 1
            )
            for name, level, kind in step["updates"]
        ],
        validate_only=step["validate_only"],
    )
    response = await client.ask(request, step["version"])
    if not response.error_code and not step["validate_only"]:
        await _newer(client, before)
    results = [[each.feature, each.error_code, each.error_message] for each in response.results]
    return [
        ErrorCode(response.error_code).name,
        response.error_message,
        results,
        await finalized(client),
    ]


async def _newer(client: RawClient, epoch: int) -> None:
    """Wait until the broker knows what the controller has decided."""
    for _ in range(TRIES):
        if (await _told(client)).finalized_features_epoch > epoch:
            return
        await asyncio.sleep(WAIT)


async def _told(client: RawClient) -> Any:
    greeting = ApiVersionsRequest(client_software_name="pyk", client_software_version="1.0")
    return await client.ask(greeting, 4)


async def finalized(client: RawClient) -> dict[str, int]:
    """Return the levels that are finalized, by name."""
    features = (await _told(client)).finalized_features
    return {
        each.name: each.max_version_level for each in sorted(features, key=lambda one: one.name)
    }


def feature_records(data_directory: Path) -> list[list[Any]]:
    """Return what the metadata log says of features and of the quorum's version, in its order."""
    found: list[list[Any]] = []
    for batch in read_batches((data_directory / METADATA_LOG).read_bytes()):
        for record in batch:
            if not batch.is_control or is_about_quorum(record.key):
                key = record.key if batch.is_control else None
                found += _summary(MetadataRecord.decode(key, record.value).message)
    return found


def _summary(message: Message) -> list[list[Any]]:
    if isinstance(message, FeatureLevelRecord):
        return [["feature", message.name, message.feature_level]]
    if isinstance(message, ConfigRecord):
        return [["config", message.resource_name, message.name, message.value]]
    if isinstance(message, KRaftVersionRecord):
        return [["kraft", message.k_raft_version]]
    if isinstance(message, VotersRecord):
        return [["voters", [each.voter_id for each in message.voters]]]
    return []
