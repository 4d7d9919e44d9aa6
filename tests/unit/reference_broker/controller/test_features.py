"""UpdateFeatures: which levels may be finalized, and what follows from them.

What Apache Kafka answers to many more updates is in ``tests/conformance/feature_traces.json``.
"""

from __future__ import annotations

from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from pyk.protocol.messages.metadata_records import (
    ConfigRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
)
from pyk.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from pyk.protocol.sasl import ScramMechanism
from pyk.protocol.schema import Message
from pyk.reference_broker.controller.configs import ConfigOperation
from pyk.reference_broker.controller.feature_updates import FeatureUpdates
from pyk.reference_broker.controller.image import (
    BROKER_RESOURCE,
    TOPIC_RESOURCE,
    MetadataImage,
)
from pyk.reference_broker.controller.metadata_versions import HIGHEST, LOWEST, may_lose_metadata
from pyk.reference_broker.controller.quorum import Quorum
from pyk.reference_broker.controller.records import at_level
from pyk.reference_broker.controller.scram_requests import upsertion
from pyk.runtime import slotted
from support.controllers import Controllers, topic

NAME = "transaction.version"
UPGRADE, SAFE_DOWNGRADE = 1, 2


def update(controllers: Controllers, *updates: FeatureUpdateKey, **more: Any) -> ErrorCode:
    request = UpdateFeaturesRequest(feature_updates=list(updates), **more)
    response = controllers.ask(request)
    return ErrorCode(response.error_code)


def to(level: int, upgrade_type: int = UPGRADE, name: str = NAME) -> FeatureUpdateKey:
    return FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=upgrade_type)


def test_a_new_cluster_has_transactions_of_version_2() -> None:
    assert Controllers().published.features[NAME] == 2


def test_the_version_of_transactions_can_be_switched() -> None:
    controllers = Controllers()

    assert update(controllers, to(1, SAFE_DOWNGRADE)) is ErrorCode.NONE
    assert controllers.published.features[NAME] == 1
    assert update(controllers, to(0, SAFE_DOWNGRADE)) is ErrorCode.NONE
    assert NAME not in controllers.published.features
    assert update(controllers, to(2)) is ErrorCode.NONE
    assert controllers.published.features[NAME] == 2


@pytest.mark.parametrize(
    "refused",
    [
        to(3),
        to(-1, SAFE_DOWNGRADE),
        to(1),
        to(1, SAFE_DOWNGRADE, "never.heard.of"),
        to(29, SAFE_DOWNGRADE, "metadata.version"),
    ],
)
def test_one_update_that_is_refused_refuses_all(refused: FeatureUpdateKey) -> None:
    controllers = Controllers()
    before = dict(controllers.published.features)

    code = update(controllers, to(0, SAFE_DOWNGRADE), refused)

    assert code is ErrorCode.INVALID_UPDATE_VERSION
    assert controllers.published.features == before


def test_a_refused_update_has_no_results_but_the_reason() -> None:
    request = UpdateFeaturesRequest(feature_updates=[to(2), to(1, name="unheard.of")])

    response = Controllers().ask(request)

    assert response.results == []
    assert response.error_message.startswith(
        "The update failed for all features since the following feature had an error: "
        "Invalid update version 1 for feature unheard.of."
    )


def test_a_downgrade_cannot_go_up() -> None:
    controllers = Controllers()
    update(controllers, to(1, SAFE_DOWNGRADE))

    assert update(controllers, to(2, SAFE_DOWNGRADE)) is ErrorCode.INVALID_UPDATE_VERSION


def test_a_validation_changes_nothing() -> None:
    controllers = Controllers()

    assert update(controllers, to(0, SAFE_DOWNGRADE), validate_only=True) is ErrorCode.NONE

    assert controllers.published.features[NAME] == 2


# -- metadata.version ------------------------------------------------------------------------------

METADATA = "metadata.version"


def controllers_at(level: int) -> Controllers:
    """A cluster whose ``metadata.version`` is lower than that of a new one."""
    controllers = Controllers()
    for image in (controllers.shard.image, controllers.published):
        image.features[METADATA] = level
    return controllers


@pytest.mark.parametrize(
    ("current", "lower", "loses"),
    [
        (30, 29, True),
        (29, 23, False),
        (23, 22, True),
        (22, 17, False),
        (17, 16, True),
        (16, 15, False),
        (15, 14, True),
        (11, 10, True),
        (10, 8, False),
        (8, 7, True),
    ],
)
def test_a_downgrade_is_safe_between_levels_that_know_the_same_metadata(
    current: int, lower: int, loses: bool
) -> None:
    assert may_lose_metadata(current, lower) is loses


@pytest.mark.parametrize("kind", [SAFE_DOWNGRADE, 3])
def test_the_level_of_metadata_goes_down_if_that_loses_nothing(kind: int) -> None:
    controllers = controllers_at(29)

    assert update(controllers, to(23, kind, METADATA)) is ErrorCode.NONE
    assert update(controllers, to(22, kind, METADATA)) is ErrorCode.INVALID_UPDATE_VERSION
    assert controllers.published.features[METADATA] == 23
    assert update(controllers, to(30, UPGRADE, METADATA)) is ErrorCode.NONE


@pytest.mark.parametrize(
    ("level", "register_broker", "partition"),
    [(7, 1, 0), (8, 2, 0), (16, 2, 0), (17, 3, 1), (22, 3, 1), (23, 3, 2), (29, 3, 2), (30, 4, 2)],
)
def test_records_are_written_in_the_versions_of_the_level(
    level: int, register_broker: int, partition: int
) -> None:
    messages = (
        FeatureLevelRecord(name=METADATA, feature_level=level),
        RegisterBrokerRecord(rack=None),
        PartitionRecord(),
        PartitionChangeRecord(),
    )

    versions = [each.version for each in at_level(messages, LOWEST)]

    assert versions == [0, register_broker, partition, partition]


@pytest.mark.parametrize("level", range(LOWEST, HIGHEST + 1))
def test_a_topic_can_be_created_at_every_level_and_is_read_again(level: int) -> None:
    controllers = controllers_at(level)

    (created,) = controllers.create(topic("orders", 2))
    controllers.restart()

    assert created.error_code == ErrorCode.NONE
    assert len(controllers.published.topics["orders"].partitions) == 2


def test_credentials_need_a_level_that_knows_them() -> None:
    credential = upsertion("alice", ScramMechanism.SCRAM_SHA_256, b"salted", b"salt", 4096)
    request = AlterUserScramCredentialsRequest(upsertions=[credential])

    codes = [
        controllers_at(level).ask(request).results[0].error_code for level in (LOWEST, 10, 11, 30)
    ]

    unsupported = ErrorCode.UNSUPPORTED_VERSION
    assert codes == [unsupported, unsupported, ErrorCode.NONE, ErrorCode.NONE]


# -- eligible.leader.replicas.version --------------------------------------------------------------

ELR = "eligible.leader.replicas.version"
SET, DELETE = ConfigOperation.SET, ConfigOperation.DELETE
MIN_ISR = "min.insync.replicas"


def test_brokers_differ_in_min_insync_replicas_only_without_eligible_leader_replicas() -> None:
    controllers = Controllers()

    def alter(name: str, operation: ConfigOperation) -> ErrorCode:
        value = "2" if operation is SET else None
        altered = controllers.alter(BROKER_RESOURCE, name, (operation, MIN_ISR, value))
        return ErrorCode(altered.error_code)

    assert alter("0", SET) is ErrorCode.INVALID_CONFIG
    assert alter("", DELETE) is ErrorCode.INVALID_CONFIG
    update(controllers, to(0, SAFE_DOWNGRADE, ELR))
    assert alter("0", SET) is ErrorCode.NONE
    assert alter("", DELETE) is ErrorCode.NONE

    update(controllers, to(1, UPGRADE, ELR))

    assert controllers.published.config(BROKER_RESOURCE, "") == {MIN_ISR: "1"}
    assert controllers.published.config(BROKER_RESOURCE, "0") == {}


def test_eligible_leader_replicas_need_a_level_of_metadata_that_knows_them() -> None:
    controllers = controllers_at(22)
    assert update(controllers, to(0, SAFE_DOWNGRADE, ELR)) is ErrorCode.NONE

    response = controllers.ask(UpdateFeaturesRequest(feature_updates=[to(1, UPGRADE, ELR)]))

    assert response.error_message.endswith(
        "eligible.leader.replicas.version could not be set to 1 because it depends on "
        "metadata.version level 23"
    )
    both = (to(1, UPGRADE, ELR), to(23, UPGRADE, METADATA))
    assert update(controllers, *both) is ErrorCode.NONE


# -- kraft.version ---------------------------------------------------------------------------------


def test_an_upgrade_of_kraft_version_names_the_voters_for_good() -> None:
    controllers = Controllers()

    assert update(controllers, to(1, UPGRADE, "kraft.version")) is ErrorCode.NONE
    controllers.restart()

    assert controllers.published.features["kraft.version"] == 1
    assert controllers.published.voters is not None
    (voter,) = controllers.published.voters.voters
    assert voter.voter_id == 0
    assert [each.name for each in voter.endpoints] == ["PLAINTEXT"]
    downgrade = update(controllers, to(0, SAFE_DOWNGRADE, "kraft.version"))
    assert downgrade is ErrorCode.INVALID_UPDATE_VERSION


def test_brokers_keep_their_own_min_insync_replicas_when_elr_is_switched_off() -> None:
    image = MetadataImage()
    image.replay(FeatureLevelRecord(name="metadata.version", feature_level=HIGHEST))
    own = ConfigRecord(
        resource_type=BROKER_RESOURCE, resource_name="0", name="min.insync.replicas", value="2"
    )
    image.replay(own)
    image.replay(slotted.evolve(own, resource_type=TOPIC_RESOURCE, resource_name="orders"))
    image.replay(slotted.evolve(own, resource_name="1", name="log.retention.ms"))
    quorum = Quorum(node_id=0, leader_epoch=1, high_watermark=1, log_end_offset=1)
    updates = FeatureUpdates(image=image, quorum=quorum, min_insync_replicas=1)
    name = "eligible.leader.replicas.version"

    def records(level: int) -> list[Message]:
        request = UpdateFeaturesRequest(feature_updates=[to(level, name=name)])
        return list(updates.update(request)[1])

    assert records(0) == [FeatureLevelRecord(name=name, feature_level=0)]
    assert len(records(1)) == 3, "for all brokers, no more for this one, and the level"
