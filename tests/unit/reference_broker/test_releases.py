from __future__ import annotations

import pytest

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.messages.api_versions import (
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from pyk.protocol.versions import VersionRange
from pyk.reference_broker.handlers.api_versions import advertised
from pyk.reference_broker.pretended import advertised_as, served_as
from pyk.reference_broker.releases import RELEASES, versions_of


@pytest.mark.parametrize(
    ("release", "api", "versions"),
    [
        ("2.1", ApiKey.PRODUCE, "0-7"),
        ("2.3", ApiKey.PRODUCE, "0-7"),
        ("2.4", ApiKey.PRODUCE, "0-8"),
        ("3.9", ApiKey.PRODUCE, "0-11"),
        ("4.0", ApiKey.PRODUCE, "3-12"),
        ("4.3", ApiKey.FETCH, "4-18"),
        ("2.1", ApiKey.API_VERSIONS, "0-2"),
    ],
)
def test_releases_have_their_versions(release: str, api: ApiKey, versions: str) -> None:
    assert versions_of(release)[api] == VersionRange.parse(versions)


def test_apis_that_came_later_are_unknown_to_a_release() -> None:
    assert ApiKey.SHARE_FETCH not in versions_of("4.0")
    assert ApiKey.SHARE_FETCH in versions_of("4.2")


def test_no_release_is_advertised_with_more_than_is_served() -> None:
    for release in RELEASES:
        response = advertised_as(release, ApiVersionsResponse(api_keys=advertised()))
        for each in response.api_keys:
            key = ApiKey(each.api_key)
            assert each.max_version == served_as(release)[key].highest
            assert each.max_version <= versions_of(release)[key].highest


@pytest.mark.parametrize(
    ("release", "names"),
    [
        ("3.2", []),
        ("3.9", ["metadata.version"]),
        ("4.0", ["metadata.version", "group.version"]),
        ("4.3", ["metadata.version", "group.version", "share.version"]),
    ],
)
def test_releases_have_the_features_of_their_time(release: str, names: list[str]) -> None:
    features = [
        SupportedFeatureKey(name=name, min_version=0, max_version=1)
        for name in ("metadata.version", "group.version", "share.version")
    ]

    response = advertised_as(release, ApiVersionsResponse(supported_features=features))

    assert [each.name for each in response.supported_features] == names


@pytest.mark.parametrize(
    ("release", "levels"),
    [("3.3", (1, 7)), ("3.7", (1, 19)), ("3.9", (1, 21)), ("4.0", (7, 25)), ("4.3", (7, 25))],
)
def test_releases_have_the_metadata_levels_of_their_time(
    release: str, levels: tuple[int, int]
) -> None:
    name = "metadata.version"
    response = ApiVersionsResponse(
        supported_features=[SupportedFeatureKey(name=name, min_version=7, max_version=25)],
        finalized_features=[
            FinalizedFeatureKey(name=name, min_version_level=25, max_version_level=25)
        ],
    )

    advertised_as(release, response)

    (supported,), (finalized,) = response.supported_features, response.finalized_features
    assert (supported.min_version, supported.max_version) == levels
    assert finalized.max_version_level == levels[1]
