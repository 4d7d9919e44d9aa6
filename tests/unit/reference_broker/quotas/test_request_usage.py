"""What one request uses of the quotas of its client."""

from __future__ import annotations

import pytest

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.access_records import ClientQuotaRecord, EntityData
from pyk.protocol.messages.metadata import MetadataResponse
from pyk.protocol.messages.sasl_handshake import SaslHandshakeResponse
from pyk.reference_broker.controller.client_quotas import ClientQuotasImage
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.quotas.client_quotas import ClientQuotas, QuotaClient, QuotaWindows
from pyk.reference_broker.quotas.request_usage import (
    RequestUsage,
    is_exempt,
    set_throttle_time,
)

ALICE = QuotaClient("alice", "app")


class Time:
    """Monotonic seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def now(self) -> float:
        return self.seconds


class Requests:
    """Requests of a client with these limits; each costs what a test says."""

    def __init__(self, **limits: float) -> None:
        image = ClientQuotasImage()
        alice = [EntityData(entity_type="user", entity_name="alice")]
        for name, limit in limits.items():
            image.replay(ClientQuotaRecord(entity=alice, key=name, value=limit))
        self.quotas = ClientQuotas(image, QuotaWindows(), QuotaWindows())
        self.time = Time()

    def begin(self, size: int = 0) -> RequestUsage:
        return RequestUsage(self.quotas, ALICE, size, self.time.now)

    def handle(self, seconds: float, size: int = 0) -> RequestUsage:
        usage = self.begin(size)
        self.time.seconds += seconds
        usage.handled()
        return usage


@pytest.mark.parametrize(
    ("api_key", "version", "exempt"),
    [
        (ApiKey.WRITE_TXN_MARKERS, 1, True),
        (ApiKey.ADD_PARTITIONS_TO_TXN, 4, True),
        (ApiKey.ADD_PARTITIONS_TO_TXN, 3, False),
        (ApiKey.PRODUCE, 12, False),
    ],
)
def test_requests_between_brokers_are_exempt(api_key: ApiKey, version: int, exempt: bool) -> None:
    assert is_exempt(api_key, version) is exempt


def test_a_produce_request_is_charged_by_its_size() -> None:
    requests = Requests(producer_byte_rate=1000)

    assert requests.handle(0, size=11_000).answered(ApiKey.PRODUCE, has_response=True) == 1000
    assert requests.handle(0, size=11_000).answered(ApiKey.METADATA, has_response=True) == 0


def test_the_time_until_the_handler_returns_is_charged() -> None:
    requests = Requests(request_percentage=1)
    usage = requests.handle(0.101)

    requests.time.seconds += 0.5  # it waits for something

    assert 0 < usage.answered(ApiKey.METADATA, has_response=True) <= 100


def test_a_request_that_is_answered_in_its_handler_is_charged_so_far() -> None:
    requests = Requests(request_percentage=1)
    usage = requests.begin()

    requests.time.seconds += 0.2

    assert usage.answered(ApiKey.METADATA, has_response=True) == 1000


def test_the_time_of_a_request_without_a_response_is_not_charged() -> None:
    requests = Requests(request_percentage=1)

    assert requests.handle(10).answered(ApiKey.PRODUCE, has_response=False) == 0
    assert requests.handle(0.05).answered(ApiKey.METADATA, has_response=True) == 0


def test_a_client_waits_for_the_longer_of_two_quotas() -> None:
    requests = Requests(producer_byte_rate=1000, request_percentage=1)

    usage = requests.handle(10, size=15_000)

    assert usage.answered(ApiKey.PRODUCE, has_response=True) == 5000


def test_a_throttled_fetch_counts_for_nothing() -> None:
    requests = Requests(consumer_byte_rate=1000)

    first = requests.handle(0)
    assert first.fetched(11_000) == 1000
    assert first.answered(ApiKey.FETCH, has_response=True) == 1000
    second = requests.handle(0)
    assert second.fetched(10_000) == 0
    assert second.answered(ApiKey.FETCH, has_response=True) == 0


def test_a_fetch_that_took_too_long_is_throttled_and_its_bytes_do_not_count() -> None:
    requests = Requests(consumer_byte_rate=1000, request_percentage=1)

    assert requests.handle(0.2).fetched(10_000) == 1000
    requests.time.seconds += 20
    assert requests.handle(0).fetched(10_000) == 0


def test_the_largest_fetch_is_what_ten_windows_hold() -> None:
    assert Requests(consumer_byte_rate=1000).begin().largest_fetch == 10_000
    assert Requests().begin().largest_fetch is None


def test_strict_changes_are_refused_until_debts_are_paid() -> None:
    requests = Requests(controller_mutation_rate=2)
    usage = requests.begin()
    mutations = usage.mutations(is_strict=True)
    assert mutations is not None

    mutations.charge(32)
    assert usage.answered(ApiKey.CREATE_TOPICS, has_response=True) == 0
    with pytest.raises(ApiError) as caught:
        mutations.charge(1)

    # Eleven windows of two are 22: ten are owed.
    assert caught.value.code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert mutations.throttle_ms == 5000
    requests.time.seconds += 2
    assert usage.answered(ApiKey.CREATE_TOPICS, has_response=True) == 3000
    requests.time.seconds += 4
    assert mutations.throttle_ms == 0
    mutations.charge(1)


def test_no_debt_refuses_nothing() -> None:
    mutations = Requests(controller_mutation_rate=2).begin().mutations(is_strict=True)
    assert mutations is not None

    mutations.charge(22)
    mutations.charge(1)

    assert mutations.throttle_ms == 0


def test_changes_of_older_clients_are_made_and_have_them_wait() -> None:
    usage = Requests(controller_mutation_rate=2).begin()
    mutations = usage.mutations(is_strict=False)
    assert mutations is not None

    mutations.charge(32)
    mutations.charge(2)

    assert usage.answered(ApiKey.CREATE_TOPICS, has_response=True) == 6000


def test_changes_are_charged_to_all_requests_of_a_user_at_its_present_limit() -> None:
    requests = Requests(controller_mutation_rate=1)
    first = requests.begin().mutations(is_strict=False)
    assert first is not None
    first.charge(21)
    alice = [EntityData(entity_type="user", entity_name="alice")]
    record = ClientQuotaRecord(entity=alice, key="controller_mutation_rate", value=2.0)
    requests.quotas._image.replay(record)

    second = requests.begin().mutations(is_strict=False)

    assert second is not None
    second.charge(2)
    assert second.throttle_ms == 6000


def test_without_a_quota_changes_are_not_limited() -> None:
    assert Requests().begin().mutations(is_strict=True) is None


def test_a_response_says_the_longest_time_that_its_client_must_wait() -> None:
    response = MetadataResponse(throttle_time_ms=5)

    set_throttle_time(response, 3)
    assert response.throttle_time_ms == 5
    set_throttle_time(response, 7)
    assert response.throttle_time_ms == 7


@pytest.mark.parametrize("response", [SaslHandshakeResponse(), None])
def test_a_response_without_room_for_it_says_nothing(response: object) -> None:
    set_throttle_time(response, 7)

    assert not hasattr(response, "throttle_time_ms")
