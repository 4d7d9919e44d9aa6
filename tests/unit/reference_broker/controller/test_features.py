"""UpdateFeatures: which levels may be finalized, and what a new cluster starts with."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from support.controllers import Controllers

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
        to(24, SAFE_DOWNGRADE, "metadata.version"),
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
