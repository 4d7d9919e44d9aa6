"""What this broker serves while it pretends to be a release of Apache Kafka. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.releases import latest_change, versions_of
from pyk.protocol.versions import VersionRange

Served = Mapping[ApiKey, VersionRange]

# Each feature with its lowest and highest level and the one of a new cluster, from the release on
# in which they changed.
_FEATURES = """
metadata.version 3.3:1-7/7 3.4:1-8/8 3.5:1-11/11 3.6:1-14/14 3.7:1-19/19 3.8:1-20/20 3.9:1-21/21 \
4.0:7-25/25 4.1:7-27/27 4.2:7-29/29 4.3:7-30/30
kraft.version 3.9:0-1/0
transaction.version 4.0:0-2/2
group.version 4.0:0-1/1
eligible.leader.replicas.version 4.0:0-1/0 4.1:0-1/1
share.version 4.1:0-1/0 4.2:0-1/1
streams.version 4.2:0-1/1
"""


class _Levels(NamedTuple):
    supported: VersionRange
    finalized: int


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
    levels = _levels_of(release)
    _limit_supported(response, levels)
    _limit_finalized(response, levels)
    return response


@cache
def _levels_of(release: str) -> Mapping[str, _Levels]:
    """Return the features that a release has."""
    found = {}
    for line in _FEATURES.strip().splitlines():
        name, *changes = line.split()
        change = latest_change(changes, release)
        if change is not None:
            supported, _, finalized = change.partition("/")
            found[name] = _Levels(VersionRange.parse(supported), int(finalized))
    return found


def _limit_supported(response: Any, levels: Mapping[str, _Levels]) -> None:
    response.supported_features = [
        each for each in response.supported_features if each.name in levels
    ]
    for each in response.supported_features:
        supported = levels[each.name].supported
        each.min_version, each.max_version = supported.lowest, supported.highest


def _limit_finalized(response: Any, levels: Mapping[str, _Levels]) -> None:
    for each in response.finalized_features:
        limit = levels[each.name].finalized if each.name in levels else 0
        level = min(each.max_version_level, limit)
        each.min_version_level = each.max_version_level = level
    response.finalized_features = [
        each for each in response.finalized_features if each.max_version_level
    ]
