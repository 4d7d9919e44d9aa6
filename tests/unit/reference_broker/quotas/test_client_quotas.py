"""Which quota counts for a client, and with whom it is shared."""

from __future__ import annotations

import pytest

from pyk.protocol.messages.access_records import ClientQuotaRecord, EntityData
from pyk.reference_broker.controller.client_quotas import ClientQuotasImage
from pyk.reference_broker.quotas.client_quotas import ClientQuotas, QuotaClient, QuotaWindows
from pyk.reference_broker.quotas.precedence import Quota, address_limit, client_quota

RATE = "producer_byte_rate"
# From the most specific to the least, with who shares the use.
IN_ORDER: list[tuple[dict[str, str | None], tuple[str, str]]] = [
    ({"user": "alice", "client-id": "app"}, ("alice", "app")),
    ({"user": "alice", "client-id": None}, ("alice", "app")),
    ({"user": "alice"}, ("alice", "")),
    ({"user": None, "client-id": "app"}, ("alice", "app")),
    ({"user": None, "client-id": None}, ("alice", "app")),
    ({"user": None}, ("alice", "")),
    ({"client-id": "app"}, ("", "app")),
    ({"client-id": None}, ("", "app")),
]


def image_of(*limits: tuple[dict[str, str | None], float], name: str = RATE) -> ClientQuotasImage:
    image = ClientQuotasImage()
    for names, value in limits:
        parts = [EntityData(entity_type=each, entity_name=names[each]) for each in names]
        image.replay(ClientQuotaRecord(entity=parts, key=name, value=value))
    return image


def quotas_of(image: ClientQuotasImage) -> ClientQuotas:
    return ClientQuotas(image, QuotaWindows(), QuotaWindows())


@pytest.mark.parametrize("first", range(len(IN_ORDER)))
def test_the_most_specific_quota_counts(first: int) -> None:
    rest = IN_ORDER[first:]
    image = image_of(*[(names, 10.0 + index) for index, (names, _) in enumerate(rest)])

    assert client_quota(image, RATE, "alice", "app") == Quota(rest[0][1], 10.0)


def test_quotas_of_others_do_not_count() -> None:
    image = image_of(({"user": "bob"}, 1.0), ({"user": "alice", "client-id": "other"}, 2.0))

    assert client_quota(image, RATE, "alice", "app") is None
    assert client_quota(image, "consumer_byte_rate", "bob", "app") is None


@pytest.mark.parametrize("names", [{"client-id": None}, {"user": "alice", "client-id": None}])
def test_a_client_without_an_id_has_no_quota_of_client_ids(names: dict[str, str | None]) -> None:
    assert client_quota(image_of((names, 1.0)), RATE, "alice", "") is None


def test_an_address_has_its_own_limit_or_the_default() -> None:
    name = "connection_creation_rate"
    image = image_of(({"ip": "127.0.0.1"}, 1.0), ({"ip": None}, 2.0), name=name)

    assert address_limit(image, name, "127.0.0.1") == 1
    assert address_limit(image, name, "127.0.0.2") == 2
    assert address_limit(ClientQuotasImage(), name, "127.0.0.1") is None


def test_an_address_has_its_limit_in_whatever_form_that_was_set() -> None:
    name = "connection_creation_rate"
    image = image_of(({"ip": "2001:DB8:0:0:0:0:0:1"}, 1.0), name=name)

    assert address_limit(image, name, "2001:db8::1") == 1


def test_clients_of_a_user_share_its_quota() -> None:
    quotas = quotas_of(image_of(({"user": "alice"}, 1000.0)))

    assert quotas.produced(QuotaClient("alice", "one"), 10_000, 0) == 0
    assert quotas.produced(QuotaClient("alice", "two"), 1_000, 0) == 1_000
    assert quotas.produced(QuotaClient("bob", "one"), 99_000, 0) == 0


def test_a_quota_per_default_is_for_each_client_on_its_own() -> None:
    quotas = quotas_of(image_of(({"client-id": None}, 1000.0)))

    assert quotas.produced(QuotaClient("alice", "one"), 11_000, 0) == 1_000
    assert quotas.produced(QuotaClient("alice", "two"), 10_000, 0) == 0


def test_a_request_that_takes_long_costs_one_window_at_most() -> None:
    quotas = quotas_of(image_of(({"user": "alice"}, 1.0), name="request_percentage"))
    alice = QuotaClient("alice", "app")

    # A tenth of a second is one percent of ten seconds.
    assert quotas.handled(alice, 0.1, 0) == 0
    assert quotas.handled(alice, 0.001, 0) == 100
    assert quotas.handled(alice, 60.0, 0) == 1000


def test_what_idle_clients_have_used_is_forgotten() -> None:
    quotas = quotas_of(image_of(({"client-id": None}, 1000.0)))

    for number in range(10_000):
        quotas.produced(QuotaClient("mallory", f"client-{number}"), 1, number * 100)

    assert len(quotas._rates) < 1_100


def test_permits_of_idle_clients_are_forgotten() -> None:
    image = image_of(({"client-id": None}, 1.0), name="controller_mutation_rate")
    quotas = quotas_of(image)

    for number in range(10_000):
        permits = quotas.mutation_permits(QuotaClient("mallory", f"{number}"), number * 100)
        assert permits is not None
        permits.take(1, number * 100)

    assert len(quotas._buckets) < 1_100


def test_what_few_clients_have_used_is_not_looked_through() -> None:
    image = image_of(({"client-id": None}, 1000.0))
    changes = ClientQuotaRecord(
        entity=[EntityData(entity_type="client-id", entity_name=None)],
        key="controller_mutation_rate",
        value=1.0,
    )
    image.replay(changes)
    quotas = quotas_of(image)

    for number in range(500):
        quotas.produced(QuotaClient("alice", f"{number}"), 1, number * 1000)
        quotas.mutation_permits(QuotaClient("alice", f"{number}"), number * 1000)
    assert (len(quotas._rates), len(quotas._buckets)) == (500, 500)

    quotas.produced(QuotaClient("alice", "one more"), 1, 1_000_000)
    assert (len(quotas._rates), len(quotas._buckets)) == (1, 0)
