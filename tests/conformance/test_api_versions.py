"""The APIs that brokers advertise are those of Apache Kafka, with the same versions."""

from __future__ import annotations

import asyncio
from typing import Any

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.messages.api_versions import ApiVersionsRequest
from pyk.reference_broker.handlers.table import SERVED
from support.brokers import Kafka
from support.raw_client import RawClient

WITH_PLUGIN = {ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY}
"""Apache Kafka serves these only with a plug-in that takes metrics of clients."""

OTHER_VERSIONS = {
    ApiKey.PRODUCE: (0, 13),  # KAFKA-18659
    ApiKey.SASL_HANDSHAKE: (0, 1),
    ApiKey.INIT_PRODUCER_ID: (0, 5),
}
"""What Apache Kafka advertises where that is not what the reference broker serves."""


FEATURES = {
    "eligible.leader.replicas.version": (0, 1),
    "group.version": (0, 1),
    "kraft.version": (0, 1),
    "metadata.version": (7, 30),
    "share.version": (0, 1),
    "streams.version": (0, 1),
    "transaction.version": (0, 2),
}


def greet(kafka: Kafka, version: int = 4) -> Any:
    async def ask() -> Any:
        greeting = ApiVersionsRequest(client_software_name="pyk", client_software_version="1.0")
        async with RawClient(kafka.bootstrap) as client:
            return await client.ask(greeting, version)

    return asyncio.run(ask())


def advertised(kafka: Kafka) -> dict[int, tuple[int, int]]:
    keys = greet(kafka).api_keys
    return {each.api_key: (each.min_version, each.max_version) for each in keys}


def test_the_apis_and_their_versions_are_those_of_apache_kafka(kafka: Kafka) -> None:
    found = advertised(kafka)

    served = {int(key): (each.lowest, each.highest) for key, each in SERVED.items()}
    of_kafka = served | {int(key): versions for key, versions in OTHER_VERSIONS.items()}
    for key, versions in of_kafka.items():
        if key in found:
            assert found[key] in (versions, served[key]), ApiKey(key)
    assert set(of_kafka) - set(found) <= WITH_PLUGIN
    assert set(found) <= set(of_kafka)


def test_the_features_and_their_levels_are_those_of_apache_kafka(kafka: Kafka) -> None:
    response = greet(kafka)

    supported = {
        each.name: (each.min_version, each.max_version) for each in response.supported_features
    }
    finalized = {each.name: each.max_version_level for each in response.finalized_features}
    assert supported == FEATURES
    # Other scenarios switch features off and on; the quorum is fixed, so kraft.version is 0.
    assert finalized == {
        name: highest for name, (_, highest) in FEATURES.items() if name != "kraft.version"
    }
    assert response.finalized_features_epoch > 0


def test_clients_of_version_3_are_told_of_no_feature_that_begins_at_level_0(kafka: Kafka) -> None:
    (supported,) = greet(kafka, 3).supported_features

    assert (supported.name, supported.min_version, supported.max_version) == (
        "metadata.version", 7, 30,
    )  # fmt: skip
