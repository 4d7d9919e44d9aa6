"""UpdateFeatures (KIP-584, KIP-778, KIP-1022): which levels of features may be finalized. Pure.

All updates of a request are made, or none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.metadata_change_records import NoOpRecord
from pyk.protocol.messages.metadata_records import ConfigRecord, FeatureLevelRecord
from pyk.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from pyk.protocol.schema import Message
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted

from .broker_config_checks import ALL_BROKERS, MIN_INSYNC_REPLICAS
from .configs import min_insync_replicas_record
from .features import ELR_VERSION, FEATURES_BY_NAME, KRAFT_VERSION, METADATA_VERSION
from .image import BROKER_RESOURCE, MetadataImage
from .metadata_versions import ELIGIBLE_LEADER_REPLICAS, may_lose_metadata
from .quorum import Quorum
from .voters import voter_set

FAILED_FOR_ALL = "The update failed for all features since the following feature had an error"


class UpgradeType(IntEnum):
    """Which changes of a level a request allows."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@slotted.frozen(kw_only=True)
class FeatureUpdates:
    """What the controller looks at to decide on an UpdateFeatures request."""

    image: MetadataImage
    quorum: Quorum
    min_insync_replicas: int
    """What the configuration file says."""

    def update(
        self, request: UpdateFeaturesRequest
    ) -> tuple[UpdateFeaturesResponse, Sequence[Message]]:
        """Return the response, and the records of the new levels."""
        updates = {each.feature: each for each in request.feature_updates}
        proposed = self.image.features | {
            name: each.max_version_level for name, each in updates.items()
        }
        records: list[Message] = []
        for update in updates.values():
            try:
                records += self._records(update, proposed)
            except ApiError as error:
                return UpdateFeaturesResponse(
                    error_code=error.code, error_message=f"{FAILED_FOR_ALL}: {error.message}"
                ), ()
        if proposed.get(ELR_VERSION, 0) and ELR_VERSION in updates:
            records = [*self._cluster_wide_min_insync_replicas(), *records]
        return _succeeded(request), () if request.validate_only else records

    def _records(self, update: FeatureUpdateKey, proposed: Mapping[str, int]) -> list[Message]:
        """Return the records of one update; raise :class:`ApiError` if it is refused."""
        name, level = update.feature, update.max_version_level
        current = self.image.features.get(name, 0)
        self._check(update, current)
        if name == KRAFT_VERSION:
            return self._upgrade_kraft(level, current, update.upgrade_type)
        if name == METADATA_VERSION:
            _check_metadata_downgrade(level, current, update.upgrade_type)
        elif name not in FEATURES_BY_NAME:
            raise _invalid(update, f"Feature {name} not found.")
        elif name == ELR_VERSION and level:
            _check_dependency(update, proposed)
        return [FeatureLevelRecord(name=name, feature_level=level)]

    def _check(self, update: FeatureUpdateKey, current: int) -> None:
        """Raise unless the level is supported, and the request allows to go there."""
        level, upgrade_type = update.max_version_level, update.upgrade_type
        if upgrade_type not in UpgradeType.__members__.values():
            raise _invalid(update, "The controller does not support the given upgrade type.")
        if level < 0:
            raise _invalid(update, "A feature version cannot be less than 0.")
        feature, node = FEATURES_BY_NAME.get(update.feature), self.quorum.node_id
        if feature is None and level:
            raise _invalid(update, f"Local controller {node} does not support this feature.")
        if feature is not None and not feature.lowest <= level <= feature.highest:
            raise _invalid(
                update,
                f"Local controller {node} only supports versions "
                f"{feature.lowest}-{feature.highest}",
            )
        if level < current and upgrade_type == UpgradeType.UPGRADE:
            raise _invalid(
                update,
                "Can't downgrade the version of this feature without setting the upgrade type to "
                "either safe or unsafe downgrade.",
            )
        if level > current and upgrade_type != UpgradeType.UPGRADE:
            raise _invalid(update, "Can't downgrade to a newer version.")

    def _upgrade_kraft(self, level: int, current: int, upgrade_type: int) -> list[Message]:
        """Return what the log says of the quorum from the new level on (KIP-853).

        Kafka commits an upgrade, also one to the current level, with a record that says nothing.
        """
        if level < current:
            raise ApiError(
                ErrorCode.INVALID_UPDATE_VERSION,
                f"Invalid update version {level} for feature {KRAFT_VERSION}. Can't downgrade the "
                "version of this feature.",
            )
        if upgrade_type != UpgradeType.UPGRADE:
            return []
        if level == current:
            return [NoOpRecord()]
        return [*voter_set(self.quorum, self.image), NoOpRecord()]

    def _cluster_wide_min_insync_replicas(self) -> list[Message]:
        """Return the records with which brokers differ no more in ``min.insync.replicas``."""
        records: list[Message] = []
        if MIN_INSYNC_REPLICAS not in self.image.config(BROKER_RESOURCE, ALL_BROKERS):
            records.append(min_insync_replicas_record(self.min_insync_replicas))
        records += [
            ConfigRecord(
                resource_type=BROKER_RESOURCE, resource_name=name, name=MIN_INSYNC_REPLICAS,
                value=None,
            )
            for (kind, name), values in self.image.configs.items()
            if kind == BROKER_RESOURCE and name != ALL_BROKERS and MIN_INSYNC_REPLICAS in values
        ]  # fmt: skip
        return records


def _invalid(update: FeatureUpdateKey, why: str) -> ApiError:
    return ApiError(
        ErrorCode.INVALID_UPDATE_VERSION,
        f"Invalid update version {update.max_version_level} for feature {update.feature}. {why}",
    )


def _check_metadata_downgrade(level: int, current: int, upgrade_type: int) -> None:
    if not may_lose_metadata(current, level):
        return
    if upgrade_type == UpgradeType.UNSAFE_DOWNGRADE:
        why = "Unsafe metadata downgrade is not supported in this version."
    else:
        why = (
            "Refusing to perform the requested downgrade because it might delete metadata "
            "information."
        )
    raise ApiError(
        ErrorCode.INVALID_UPDATE_VERSION,
        f"Unsupported {METADATA_VERSION} downgrade from {current} to {level}. {why}",
    )


def _check_dependency(update: FeatureUpdateKey, proposed: Mapping[str, int]) -> None:
    if proposed.get(METADATA_VERSION, 0) < ELIGIBLE_LEADER_REPLICAS:
        raise _invalid(
            update,
            f"{update.feature} could not be set to {update.max_version_level} because it depends "
            f"on {METADATA_VERSION} level {ELIGIBLE_LEADER_REPLICAS}",
        )


def _succeeded(request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    results = [
        UpdatableFeatureResult(feature=each.feature, error_message=ErrorCode.NONE.name)
        for each in request.feature_updates
    ]
    return UpdateFeaturesResponse(error_message=None, results=results)
