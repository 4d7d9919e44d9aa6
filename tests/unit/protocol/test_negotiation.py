from __future__ import annotations

import pytest

from pyk.protocol import ApiKey, UnsupportedVersionError, VersionRange
from pyk.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
)
from pyk.protocol.negotiation import (
    FinalizedFeatures,
    PeerVersions,
    client_versions,
    downgraded_api_versions,
    request_header_version,
    response_header_version,
)


def response(
    *apis: tuple[int, int, int], transaction_version: int = 0, epoch: int = 5
) -> ApiVersionsResponse:
    return ApiVersionsResponse(
        api_keys=[
            ApiVersion(api_key=key, min_version=lowest, max_version=highest)
            for key, lowest, highest in apis
        ],
        finalized_features=[
            FinalizedFeatureKey(
                name="transaction.version",
                max_version_level=transaction_version,
                min_version_level=transaction_version,
            )
        ],
        finalized_features_epoch=epoch,
    )


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [((1, 0, 12), 12), ((1, 4, 99), 18), ((1, 0, 4), 4), ((1, 18, 18), 18)],
)
def test_the_highest_version_that_both_know_is_chosen(
    offered: tuple[int, int, int], chosen: int
) -> None:
    assert PeerVersions.from_response(response(offered)).version_for(ApiKey.FETCH) == chosen


def test_the_caller_may_narrow_the_choice() -> None:
    peer = PeerVersions.from_response(response((1, 0, 18)))

    assert peer.version_for(ApiKey.FETCH, VersionRange(0, 12)) == 12


@pytest.mark.parametrize(
    ("offered", "words"),
    [
        ((2, 0, 11), "does not offer Fetch"),
        ((1, 0, 3), "offers Fetch versions 0-3, but 4-18 are needed"),
        ((1, 19, 30), "offers Fetch versions 19-30"),
        ((1, 9, 3), "does not offer Fetch"),
    ],
)
def test_no_common_version_is_an_error_that_names_both_ranges(
    offered: tuple[int, int, int], words: str
) -> None:
    with pytest.raises(UnsupportedVersionError, match=words):
        PeerVersions.from_response(response(offered)).version_for(ApiKey.FETCH)


@pytest.mark.parametrize(
    ("api", "within", "offered", "needed"),
    [
        (ApiKey.LIST_GROUPS, "4+", (16, 0, 2), "Apache Kafka 2.6 or later$"),
        (ApiKey.LIST_CONFIG_RESOURCES, "1+", (74, 0, 0), "Apache Kafka 4.1 or later$"),
        (ApiKey.ADD_RAFT_VOTER, "0+", None, "Apache Kafka 3.9 or later, with KRaft$"),
        (ApiKey.OFFSET_DELETE, "0+", None, "OffsetDelete: that needs brokers of Apache Kafka 2.4"),
        (ApiKey.LIST_GROUPS, "0-3", (16, 4, 5), "4-5, but 0-3 are needed$"),
        (ApiKey.DELETE_GROUPS, "3+", (42, 0, 2), "0-2, but 3 are needed$"),
        (ApiKey.CREATE_TOPICS, "0+", None, "does not offer CreateTopics$"),
    ],
)
def test_an_error_names_the_release_that_has_what_an_older_broker_lacks(
    api: ApiKey, within: str, offered: tuple[int, int, int] | None, needed: str
) -> None:
    peer = PeerVersions.from_response(response(*([offered] if offered else [])))

    with pytest.raises(UnsupportedVersionError, match=needed):
        peer.version_for(api, VersionRange.parse(within))


def test_apis_from_the_future_are_left_out() -> None:
    peer = PeerVersions.from_response(response((9999, 0, 1), (-5, 0, 1), (3, 0, 13)))

    assert list(peer.apis) == [ApiKey.METADATA]


def test_features_that_the_cluster_has_switched_on_are_known() -> None:
    peer = PeerVersions.from_response(response(transaction_version=2))

    assert peer.features == FinalizedFeatures({"transaction.version": 2}, epoch=5)
    assert peer.features.level("transaction.version") == 2
    assert peer.features.level("never.heard.of") == 0


def test_features_without_an_epoch_are_not_believed() -> None:
    peer = PeerVersions.from_response(response((26, 0, 5), transaction_version=2, epoch=-1))

    assert peer.features == FinalizedFeatures()
    assert peer.version_for(ApiKey.END_TXN) == 4


@pytest.mark.parametrize(
    ("known_epoch", "told_epoch", "is_news"),
    [(-1, 0, True), (5, 6, True), (5, 5, False), (5, 4, False), (5, -1, False)],
)
def test_the_newer_of_two_feature_levels_counts(
    known_epoch: int, told_epoch: int, is_news: bool
) -> None:
    known = FinalizedFeatures({"transaction.version": 1}, known_epoch)
    told = FinalizedFeatures({"transaction.version": 2}, told_epoch)

    assert known.newer(told) is (told if is_news else known)


@pytest.mark.parametrize(
    ("transaction_version", "api_key", "is_transactional", "highest"),
    [
        (0, ApiKey.PRODUCE, True, 11),
        (1, ApiKey.PRODUCE, True, 11),
        (2, ApiKey.PRODUCE, True, 13),
        (0, ApiKey.PRODUCE, False, 13),
        (1, ApiKey.END_TXN, False, 4),
        (2, ApiKey.END_TXN, False, 5),
        (1, ApiKey.TXN_OFFSET_COMMIT, False, 4),
        (2, ApiKey.TXN_OFFSET_COMMIT, False, 6),
        (2, ApiKey.ADD_PARTITIONS_TO_TXN, False, 3),
        (2, ApiKey.INIT_PRODUCER_ID, False, 5),
    ],
)
def test_new_transactions_need_the_whole_cluster(
    transaction_version: int, api_key: ApiKey, is_transactional: bool, highest: int
) -> None:
    peer = PeerVersions.from_response(
        response((api_key, 0, 99), transaction_version=transaction_version)
    )

    assert peer.version_for(api_key, is_transactional=is_transactional) == highest


@pytest.mark.parametrize(("told", "goes_by", "version"), [(1, 2, 5), (2, 1, 4), (2, 2, 5)])
def test_a_producer_ends_a_transaction_as_it_began_it_whatever_the_broker_says_now(
    told: int, goes_by: int, version: int
) -> None:
    peer = PeerVersions.from_response(response((26, 0, 5), transaction_version=told))

    assert peer.version_for(ApiKey.END_TXN, transaction_version=goes_by) == version


def test_clients_send_no_version_that_brokers_serve_in_another_way() -> None:
    assert client_versions(ApiKey.PRODUCE).lowest == 3
    assert client_versions(ApiKey.FETCH).lowest == 4
    assert client_versions(ApiKey.OFFSET_FETCH).lowest == 1


@pytest.mark.parametrize(
    ("refusal", "version"),
    [
        (response((18, 0, 3)), 3),
        (response((18, 0, 4)), 4),
        (response(), 0),
        (response((18, 0, 99)), ApiKey.API_VERSIONS.versions.highest),
        (response((18, 50, 99)), 0),
        (response((18, 3, 0)), 0),
    ],
)
def test_a_refused_api_versions_is_asked_again_in_a_version_that_the_broker_has(
    refusal: ApiVersionsResponse, version: int
) -> None:
    assert downgraded_api_versions(refusal) == version


@pytest.mark.parametrize(
    ("api_key", "version", "request_header", "response_header"),
    [
        (ApiKey.HEARTBEAT, 3, 1, 0),
        (ApiKey.HEARTBEAT, 4, 2, 1),
        (ApiKey.API_VERSIONS, 2, 1, 0),
        (ApiKey.API_VERSIONS, 3, 2, 0),
        (ApiKey.CONTROLLED_SHUTDOWN, 0, 0, 0),
        (ApiKey.CONTROLLED_SHUTDOWN, 1, 1, 0),
        (ApiKey.SASL_HANDSHAKE, 1, 1, 0),
        (ApiKey.DESCRIBE_CLUSTER, 0, 2, 1),
    ],
)
def test_header_versions_follow_the_encoding_of_the_body(
    api_key: ApiKey, version: int, request_header: int, response_header: int
) -> None:
    assert request_header_version(api_key, version) == request_header
    assert response_header_version(api_key, version) == response_header


def test_an_unstable_version_is_used_only_by_callers_that_want_nothing_else() -> None:
    api = ApiKey.INIT_PRODUCER_ID
    unstable = api.versions.highest
    assert unstable not in api.stable_versions
    peer = PeerVersions.from_response(response((api, 0, unstable)))

    assert peer.version_for(api) == api.stable_versions.highest
    assert peer.version_for(api, VersionRange(unstable, unstable)) == unstable
