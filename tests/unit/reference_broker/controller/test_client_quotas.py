"""The quotas of clients, as the controller keeps them."""

from __future__ import annotations

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.controller.quota_requests import describe_client_quotas
from support.controllers import Controllers
from support.quotas import ANY, EXACT, alteration, change, described, limit, question

ALICE = {"user": "alice"}
RATE = "producer_byte_rate"


def limits(controllers: Controllers) -> list[object]:
    response = describe_client_quotas(controllers.shard.image.client_quotas, question())
    return list(described(response))


def test_quotas_outlive_a_restart() -> None:
    controllers = Controllers()
    controllers.ask(limit(ALICE, producer_byte_rate=1000, request_percentage=12.5))
    controllers.ask(limit({"client-id": None, "user": "bob"}, consumer_byte_rate=7))

    controllers.restart()

    assert limits(controllers) == [
        ({"client-id": None, "user": "bob"}, {"consumer_byte_rate": 7}),
        (ALICE, {RATE: 1000, "request_percentage": 12.5}),
    ]
    assert (
        controllers.published.client_quotas.limits == controllers.shard.image.client_quotas.limits
    )


def test_an_entity_whose_last_limit_is_lifted_is_gone() -> None:
    controllers = Controllers()
    controllers.ask(limit(ALICE, producer_byte_rate=1000, consumer_byte_rate=9))

    controllers.ask(limit(ALICE, producer_byte_rate=None))
    assert limits(controllers) == [(ALICE, {"consumer_byte_rate": 9})]

    controllers.ask(limit(ALICE, consumer_byte_rate=None))
    assert limits(controllers) == []


def test_what_changes_nothing_writes_nothing() -> None:
    controllers = Controllers()
    controllers.ask(limit(ALICE, producer_byte_rate=1000))
    written = controllers.shard.image.record_count

    controllers.ask(limit(ALICE, producer_byte_rate=1000, consumer_byte_rate=None))

    assert controllers.shard.image.record_count == written


def test_a_request_may_only_be_validated() -> None:
    controllers = Controllers()
    request = alteration(change(ALICE, (RATE, 5.0)), validate_only=True)

    assert [entry.error_code for entry in controllers.ask(request).entries] == [0]
    assert limits(controllers) == []


def test_entities_of_one_request_succeed_and_fail_apart() -> None:
    controllers = Controllers()
    request = alteration(
        change(ALICE, (RATE, 5.0), ("consumer_byte_rate", 0.5)),
        change({"user": "bob"}, (RATE, 6.0)),
    )

    codes = [ErrorCode(entry.error_code) for entry in controllers.ask(request).entries]

    assert codes == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE]
    assert limits(controllers) == [({"user": "bob"}, {RATE: 6})]


@pytest.mark.parametrize("limit_name", ["request_percentage", RATE])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_limits_that_are_no_numbers_are_refused(limit_name: str, value: float) -> None:
    controllers = Controllers()

    (answer,) = controllers.ask(alteration(change(ALICE, (limit_name, value)))).entries

    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert answer.error_message == f"Quota {limit_name} must be a number, not {value}"
    assert limits(controllers) == []


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", None])
def test_addresses_have_quotas_of_connections(address: str | None) -> None:
    controllers = Controllers()

    controllers.ask(limit({"ip": address}, connection_creation_rate=10))

    assert limits(controllers) == [({"ip": address}, {"connection_creation_rate": 10})]


def test_a_strict_filter_leaves_out_entities_with_more_types() -> None:
    controllers = Controllers()
    controllers.ask(limit(ALICE, producer_byte_rate=1))
    controllers.ask(limit({**ALICE, "client-id": "app"}, producer_byte_rate=2))
    image = controllers.shard.image.client_quotas

    def found(*components: tuple[str, int, str | None], strict: bool) -> int:
        return len(described(describe_client_quotas(image, question(*components, strict=strict))))

    assert found(("user", EXACT, "alice"), strict=False) == 2
    assert found(("user", EXACT, "alice"), strict=True) == 1
    assert found(("user", ANY, None), ("client-id", ANY, None), strict=True) == 1
    assert found(strict=True) == 0
