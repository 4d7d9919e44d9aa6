"""UpdateFeatures: change the levels of features that the cluster runs (KIP-584)."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    request,
    response,
    string,
    struct,
)


@struct
class FeatureUpdateKey(Struct):
    """A feature, such as ``metadata.version``, with its new level."""

    feature: str = string()
    max_version_level: int = int16()
    """0 switches the feature off."""
    allow_downgrade: bool = boolean(versions="0")
    """Later versions say so by ``upgrade_type``."""
    upgrade_type: int = int8(versions="1+", default=1)
    """1 upgrade, 2 downgrade that loses nothing, 3 downgrade that may lose metadata (KIP-778)."""


@request(ApiKey.UPDATE_FEATURES, versions="0-2", flexible="0+")
class UpdateFeaturesRequest(Message):
    """Ask the controller, after an upgrade of the nodes or before a downgrade, to change levels."""

    timeout_ms: int = int32(default=60000)
    feature_updates: list[FeatureUpdateKey] = array(FeatureUpdateKey)
    validate_only: bool = boolean(versions="1+")
    """Only validate the request."""


@struct
class UpdatableFeatureResult(Struct):
    """Whether the level of one feature was changed."""

    feature: str = string()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")


@response(ApiKey.UPDATE_FEATURES, versions="0-2", flexible="0+")
class UpdateFeaturesResponse(Message):
    """Return whether the levels were changed."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    results: list[UpdatableFeatureResult] = array(
        UpdatableFeatureResult, versions="0-1", ignorable=True
    )
    """Version 2 has none: it changes all levels or none."""
