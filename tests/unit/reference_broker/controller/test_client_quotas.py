"""The quotas of clients, as the controller keeps them."""

from __future__ import annotations

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.controller.quota_requests import describe_client_quotas
from support.controllers import Controllers
from support.quotas import ANY, DEFAULT, EXACT, alteration, change, described, limit, question

ALICE = {"user": "alice"}
RATE = "producer_byte_rate"
PER_SECOND = "connection_creation_rate"


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


@pytest.mark.parametrize(
    ("names", "name", "value", "message"),
    [
        ({}, RATE, 1.0, "Invalid empty client quota entity"),
        ({"host": "a"}, RATE, 1.0, "Unhandled client quota entity type: host"),
        ({"user": ""}, RATE, 1.0, "Empty user not supported"),
        ({"ip": "::1", "user": "a"}, RATE, 1.0, "Invalid quota entity combination"),
        ({"ip": "app.example"}, PER_SECOND, 1.0, "app.example is not a valid IP"),
        ({"ip": "::1"}, RATE, 1.0, f"Invalid configuration key {RATE}"),
        (ALICE, PER_SECOND, 1.0, f"Invalid configuration key {PER_SECOND}"),
        (ALICE, RATE, 0.0, f"Quota {RATE} must be greater than 0"),
        (ALICE, RATE, 1.5, f"{RATE} cannot be a fractional value."),
        (ALICE, RATE, 2.0**63 + 2048, f"Proposed value for {RATE} is too large for a LONG."),
        ({"ip": None}, PER_SECOND, 2.0**31, f"Proposed value for {PER_SECOND} is too large"),
    ],
)
def test_a_limit_that_no_entity_can_have_is_refused(
    names: dict[str, str | None], name: str, value: float, message: str
) -> None:
    controllers = Controllers()

    (answer,) = controllers.ask(alteration(change(names, (name, value)))).entries

    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert answer.error_message.startswith(message)
    assert limits(controllers) == []


@pytest.mark.parametrize(
    ("names", "name", "value"),
    [
        (ALICE, RATE, 2.0**63),
        (ALICE, RATE, 1 + 1e-6),
        (ALICE, "controller_mutation_rate", 0.5),
        ({"ip": None}, PER_SECOND, 2.0**31 - 1),
    ],
)
def test_the_largest_and_the_finest_limits_are_taken(
    names: dict[str, str | None], name: str, value: float
) -> None:
    controllers = Controllers()

    controllers.ask(alteration(change(names, (name, value))))

    assert limits(controllers) == [(names, {name: value})]


def test_an_entity_that_is_named_twice_gets_its_first_change_and_an_error() -> None:
    controllers = Controllers()
    request = alteration(change(ALICE, (RATE, 5.0)), change(ALICE, (RATE, 6.0)))

    (answer,) = controllers.ask(request).entries

    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert answer.error_message == (
        "Ignoring duplicate entity ClientQuotaEntity(entries={user=alice})"
    )
    assert limits(controllers) == [(ALICE, {RATE: 5})]


def test_a_limit_that_is_named_twice_is_not_set() -> None:
    controllers = Controllers()

    (answer,) = controllers.ask(alteration(change(ALICE, (RATE, 5.0), (RATE, 6.0)))).entries

    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert limits(controllers) == []


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", None])
def test_addresses_have_quotas_of_connections(address: str | None) -> None:
    controllers = Controllers()

    controllers.ask(limit({"ip": address}, connection_creation_rate=10))

    found = [({"ip": address}, {"connection_creation_rate": 10})]
    image = controllers.shard.image.client_quotas
    assert limits(controllers) == found
    assert described(describe_client_quotas(image, question(("ip", ANY, None)))) == found


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


@pytest.mark.parametrize(
    ("components", "code", "message"),
    [
        ([("", ANY, None)], ErrorCode.INVALID_REQUEST, "Invalid empty entity type."),
        ([("host", ANY, None)], ErrorCode.UNSUPPORTED_VERSION, "Unsupported entity type host"),
        ([("user", ANY, None)] * 2, ErrorCode.INVALID_REQUEST, "Entity type user cannot appear"),
        (
            [("ip", ANY, None), ("user", ANY, None)],
            ErrorCode.INVALID_REQUEST,
            "Invalid entity filter component combination.",
        ),
        ([("user", EXACT, None)], ErrorCode.INVALID_REQUEST, "Request specified MATCH_TYPE_EXACT"),
        ([("user", DEFAULT, "a")], ErrorCode.INVALID_REQUEST, "Request specified MATCH_TYPE_DEF"),
        ([("user", ANY, "a")], ErrorCode.INVALID_REQUEST, "Request specified MATCH_TYPE_SPECIFIED"),
        ([("user", 3, None)], ErrorCode.INVALID_REQUEST, "Unknown match type 3"),
    ],
)
def test_a_filter_that_is_none_is_refused(
    components: list[tuple[str, int, str | None]], code: ErrorCode, message: str
) -> None:
    image = Controllers().shard.image.client_quotas

    answer = describe_client_quotas(image, question(*components))

    assert (answer.error_code, answer.entries) == (code, None)
    assert answer.error_message is not None
    assert answer.error_message.startswith(message)


def test_the_default_of_a_type_is_found_as_such() -> None:
    controllers = Controllers()
    controllers.ask(alteration(change({"user": None}, (RATE, 1.0)), change(ALICE, (RATE, 2.0))))
    image = controllers.shard.image.client_quotas

    assert described(describe_client_quotas(image, question(("user", DEFAULT, None)))) == [
        ({"user": None}, {RATE: 1})
    ]
