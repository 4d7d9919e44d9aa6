"""The features a cluster agrees on (KIP-584), as far as this broker has them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.metadata_records import FeatureLevelRecord
from pyk.protocol.schema import Message
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted

if TYPE_CHECKING:
    from pyk.protocol.messages.update_features import (
        FeatureUpdateKey,
        UpdateFeaturesRequest,
        UpdateFeaturesResponse,
    )

METADATA_VERSION = "metadata.version"
KRAFT_VERSION = "kraft.version"
TRANSACTION_VERSION = "transaction.version"
GROUP_VERSION = "group.version"
SHARE_VERSION = "share.version"
STREAMS_VERSION = "streams.version"
ELR_VERSION = "eligible.leader.replicas.version"


@slotted.frozen(kw_only=True)
class Feature:
    """A feature, the levels this software can run, and the one a new cluster is finalized at."""

    name: str
    lowest: int
    highest: int
    finalized: int


FEATURES = (
    Feature(name=METADATA_VERSION, lowest=7, highest=30, finalized=30),
    Feature(name=KRAFT_VERSION, lowest=0, highest=1, finalized=0),
    Feature(name=ELR_VERSION, lowest=0, highest=1, finalized=1),
    Feature(name=GROUP_VERSION, lowest=0, highest=1, finalized=1),
    Feature(name=SHARE_VERSION, lowest=0, highest=1, finalized=1),
    Feature(name=STREAMS_VERSION, lowest=0, highest=1, finalized=1),
    Feature(name=TRANSACTION_VERSION, lowest=0, highest=2, finalized=2),
)
"""Those of Apache Kafka 4.3.1, and what its format command finalizes for a fixed quorum.

With ``group.version`` 1 there are groups that the coordinator assigns (KIP-848), with
``share.version`` 1 share groups (KIP-932), with ``streams.version`` 1 streams groups (KIP-1071).

``transaction.version`` 1 keeps more in the records of ``__transaction_state``; with 2 producers add
partitions by writing to them and get a new epoch with each transaction (KIP-890).
``eligible.leader.replicas.version`` 1 is about replicas on other nodes (KIP-966).
"""

_BY_NAME = {feature.name: feature for feature in FEATURES}


class UpgradeType(IntEnum):
    """Which changes of a level a request allows."""

    UNKNOWN = 0
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


FAILED_FOR_ALL = "The update failed for all features since the following feature had an error"


def update_features(
    finalized: Mapping[str, int], request: UpdateFeaturesRequest
) -> tuple[UpdateFeaturesResponse, Sequence[Message]]:
    """Return the response to UpdateFeatures, and the records of the new levels: all or none."""
    from pyk.protocol.messages.update_features import (
        UpdatableFeatureResult,
        UpdateFeaturesResponse,
    )

    results: list[UpdatableFeatureResult] = []
    records: list[Message] = []
    for update in request.feature_updates:
        try:
            _check(finalized.get(update.feature, 0), update)
        except ApiError as error:
            return UpdateFeaturesResponse(
                error_code=error.code, error_message=f"{FAILED_FOR_ALL}: {error.message}"
            ), ()
        results.append(UpdatableFeatureResult(feature=update.feature, error_message=None))
        records.append(
            FeatureLevelRecord(name=update.feature, feature_level=update.max_version_level)
        )
    response = UpdateFeaturesResponse(error_message=None, results=results)
    return response, () if request.validate_only else records


def _check(current: int, update: FeatureUpdateKey) -> None:
    """Raise unless a feature may go from its current level to the one asked for."""
    name, level = update.feature, update.max_version_level
    feature = _BY_NAME.get(name)
    if feature is None:
        raise ApiError(
            ErrorCode.INVALID_UPDATE_VERSION,
            f"Invalid update version {level} for feature {name}. The controller does not support "
            "this feature.",
        )
    if name == METADATA_VERSION and level != current:
        raise ApiError(
            ErrorCode.INVALID_UPDATE_VERSION,
            f"Invalid update version {level} for feature {name}. This controller writes level "
            f"{current} only.",
        )
    if not feature.lowest <= level <= feature.highest:
        raise ApiError(
            ErrorCode.INVALID_UPDATE_VERSION,
            f"Invalid update version {level} for feature {name}. Versions "
            f"{feature.lowest}-{feature.highest} are supported.",
        )
    allows_downgrade = update.allow_downgrade or update.upgrade_type in (
        UpgradeType.SAFE_DOWNGRADE,
        UpgradeType.UNSAFE_DOWNGRADE,
    )
    if level < current and not allows_downgrade:
        raise ApiError(
            ErrorCode.INVALID_UPDATE_VERSION,
            f"Invalid update version {level} for feature {name}. Can't downgrade the version of "
            "this feature without setting the upgrade type to either safe or unsafe downgrade.",
        )
    if level > current and allows_downgrade:
        raise ApiError(
            ErrorCode.INVALID_UPDATE_VERSION,
            f"Invalid update version {level} for feature {name}. Can't downgrade to a newer "
            "version.",
        )
