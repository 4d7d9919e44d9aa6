"""What this broker serves while it pretends to be a release of Apache Kafka. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.versions import VersionRange

from .controller.features import METADATA_VERSION
from .releases import RELEASES, versions_of

Served = Mapping[ApiKey, VersionRange]

_FEATURES_SINCE = {METADATA_VERSION: "3.3", "group.version": "4.0", "transaction.version": "4.0"}
_FIRST_RELEASE_WITH_SHARE_GROUPS = "4.2"
_METADATA_LEVELS = {"3.3": 7, "3.4": 8, "3.5": 11, "3.6": 14, "3.7": 19, "3.8": 20, "3.9": 21}
"""The highest ``metadata.version`` of releases that have a lower one than this broker."""
_LOWEST_METADATA_LEVEL = 1
"""Of the same releases; 4.0 dropped the levels below 7."""


@cache
def served_as(release: str) -> Served:
    """Return what both the release and this broker serve."""
    from .handlers.table import SERVED

    shared = (
        (key, SERVED[key] & known) for key, known in versions_of(release).items() if key in SERVED
    )
    return {key: versions for key, versions in shared if not versions.is_empty}


def advertised_as(release: str, response: Any) -> Any:
    """Return the response to ApiVersions with no more than the release has."""
    served = served_as(release)
    response.api_keys = [each for each in response.api_keys if ApiKey(each.api_key) in served]
    for each in response.api_keys:
        versions = served[ApiKey(each.api_key)]
        if each.api_key != ApiKey.PRODUCE:  # of which older versions are advertised than served
            each.min_version = versions.lowest
        each.max_version = versions.highest
    response.supported_features = [
        each for each in response.supported_features if _has_feature(release, each.name)
    ]
    response.finalized_features = [
        each for each in response.finalized_features if _has_feature(release, each.name)
    ]
    level = _METADATA_LEVELS.get(release)
    if level is not None:
        _limit_metadata_level(response, level)
    return response


def _limit_metadata_level(response: Any, level: int) -> None:
    for supported in response.supported_features:
        if supported.name == METADATA_VERSION:
            supported.min_version, supported.max_version = _LOWEST_METADATA_LEVEL, level
    for finalized in response.finalized_features:
        if finalized.name == METADATA_VERSION:
            finalized.min_version_level = finalized.max_version_level = level


def _has_feature(release: str, name: str) -> bool:
    since = _FEATURES_SINCE.get(name, _FIRST_RELEASE_WITH_SHARE_GROUPS)
    return RELEASES.index(release) >= RELEASES.index(since)
