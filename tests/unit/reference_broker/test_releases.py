from __future__ import annotations

import pytest

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.messages.api_versions import (
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from pyk.protocol.releases import RELEASES, versions_of
from pyk.protocol.versions import VersionRange
from pyk.reference_broker.controller.features import FEATURES
from pyk.reference_broker.handlers.api_versions import advertised
from pyk.reference_broker.pretended import advertised_as, served_as


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


def told(release: str) -> ApiVersionsResponse:
    """Return the features of a new cluster as that release would tell them."""
    response = ApiVersionsResponse(
        supported_features=[
            SupportedFeatureKey(name=each.name, min_version=each.lowest, max_version=each.highest)
            for each in FEATURES
        ],
        finalized_features=[
            FinalizedFeatureKey(
                name=each.name, min_version_level=each.finalized, max_version_level=each.finalized
            )
            for each in FEATURES
            if each.finalized
        ],
    )
    advertised_as(release, response)
    return response


SINCE_4_0 = {"kraft": (0, 1), "group": (0, 1), "transaction": (0, 2), "elr": (0, 1)}
SINCE_4_1 = SINCE_4_0 | {"share": (0, 1)}
SINCE_4_2 = SINCE_4_1 | {"streams": (0, 1)}
FINALIZED_4_0 = {"group": 1, "transaction": 2}
FINALIZED_4_1 = FINALIZED_4_0 | {"elr": 1}
FINALIZED_4_2 = FINALIZED_4_1 | {"share": 1, "streams": 1}


@pytest.mark.parametrize(
    ("release", "supported", "finalized"),
    [
        ("3.2", {}, {}),
        ("3.3", {"metadata": (1, 7)}, {"metadata": 7}),
        ("3.7", {"metadata": (1, 19)}, {"metadata": 19}),
        ("3.9", {"metadata": (1, 21), "kraft": (0, 1)}, {"metadata": 21}),
        ("4.0", SINCE_4_0 | {"metadata": (7, 25)}, FINALIZED_4_0 | {"metadata": 25}),
        ("4.1", SINCE_4_1 | {"metadata": (7, 27)}, FINALIZED_4_1 | {"metadata": 27}),
        ("4.2", SINCE_4_2 | {"metadata": (7, 29)}, FINALIZED_4_2 | {"metadata": 29}),
        ("4.3", SINCE_4_2 | {"metadata": (7, 30)}, FINALIZED_4_2 | {"metadata": 30}),
    ],
)
def test_releases_have_the_features_of_their_time(
    release: str, supported: dict[str, tuple[int, int]], finalized: dict[str, int]
) -> None:
    response = told(release)

    assert supported == {
        short(each.name): (each.min_version, each.max_version)
        for each in response.supported_features
    }
    assert finalized == {
        short(each.name): each.max_version_level for each in response.finalized_features
    }


def short(name: str) -> str:
    return name.removesuffix(".version").replace("eligible.leader.replicas", "elr")


def test_a_lower_level_is_told_as_it_is() -> None:
    response = ApiVersionsResponse(
        finalized_features=[
            FinalizedFeatureKey(
                name="transaction.version", min_version_level=1, max_version_level=1
            )
        ]
    )

    advertised_as("4.0", response)

    (finalized,) = response.finalized_features
    assert (finalized.min_version_level, finalized.max_version_level) == (1, 1)
