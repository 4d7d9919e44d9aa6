"""The features that a cluster agrees on (KIP-584). Pure."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Any

from pyk.clients.admin.arguments import several
from pyk.clients.admin.fields import check_field, check_member
from pyk.clients.errors import KafkaError, error_for
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.api_versions import ApiVersionsResponse
from pyk.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from pyk.runtime import slotted


class UpgradeType(enum.IntEnum):
    """Which changes of a level are allowed."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    """Lower, if no metadata is lost by it."""
    UNSAFE_DOWNGRADE = 3


@slotted.frozen
class FeatureUpdate:
    """A new level of a feature; 0 switches it off."""

    feature: str
    level: int
    upgrade_type: UpgradeType = UpgradeType.UPGRADE

    def __attrs_post_init__(self) -> None:
        check_field(self, "feature", str)
        check_field(self, "level", int)
        check_member(self, "upgrade_type", UpgradeType)


@slotted.frozen
class FeatureMetadata:
    """The levels of features that a broker supports, and those that the cluster works at."""

    supported: Mapping[str, tuple[int, int]]
    """Lowest and highest level by name."""
    finalized: Mapping[str, tuple[int, int]]
    finalized_epoch: int | None


def described_features(response: ApiVersionsResponse) -> FeatureMetadata:
    epoch = response.finalized_features_epoch
    return FeatureMetadata(
        {one.name: (one.min_version, one.max_version) for one in response.supported_features},
        {
            one.name: (one.min_version_level, one.max_version_level)
            for one in response.finalized_features
        },
        None if epoch < 0 else epoch,
    )


def checked_updates(given: Any) -> dict[str, FeatureUpdate]:
    """Return updates by feature; accept a single one as well, and no two of one feature."""
    form = "FeatureUpdate(feature, level)"
    found: dict[str, FeatureUpdate] = {}
    for one in [given] if isinstance(given, FeatureUpdate) else several(given, form):
        if not isinstance(one, FeatureUpdate):
            raise TypeError(f"an update must be {form}, not {one!r}")
        if one.feature in found:
            raise ValueError(f"feature {one.feature!r} is given twice")
        found[one.feature] = one
    return found


def update_request(
    updates: Iterable[FeatureUpdate], *, validate_only: bool, timeout_ms: int
) -> UpdateFeaturesRequest:
    return UpdateFeaturesRequest(
        timeout_ms=timeout_ms,
        validate_only=validate_only,
        feature_updates=[
            FeatureUpdateKey(
                feature=one.feature, max_version_level=one.level, upgrade_type=one.upgrade_type
            )
            for one in updates
        ],
    )


def updated(
    response: UpdateFeaturesResponse, features: Iterable[str]
) -> dict[str, KafkaError | None]:
    """Return the outcome of each feature: since version 2 all of them share one."""

    def outcome(code: int, message: str | None) -> KafkaError | None:
        return error_for(code, message, api_key=response.api_key) if code else None

    if response.error_code != ErrorCode.NONE or not response.results:
        return {name: outcome(response.error_code, response.error_message) for name in features}
    return {one.feature: outcome(one.error_code, one.error_message) for one in response.results}
