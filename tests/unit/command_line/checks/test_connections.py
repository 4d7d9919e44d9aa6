from __future__ import annotations

import pytest

from pyk.clients import Node
from pyk.clients.errors import (
    ConnectionAttempt,
    KafkaError,
    NodeUnavailableError,
    SaslAuthenticationFailedError,
    Stage,
)
from pyk.clients.errors.advice import CORRECT_LISTENERS
from pyk.command_line.checks.connections import (
    ADVERTISED,
    CORRECT_NAME,
    MEANINGS,
    SEE_ERROR,
    Identity,
    Reached,
    Unreached,
    advertised_findings,
    connection_findings,
    identity_findings,
)
from pyk.command_line.checks.finding import Finding, Status, failed, ok, warning
from pyk.runtime import slotted

REFUSED = ConnectionAttempt("shop:9092", "10.0.0.1:9092", Stage.TCP, "connection refused", "is it?")


def test_each_step_to_a_server_is_told() -> None:
    reached = Reached("shop:9093", "10.0.0.1:9093", 7.6, True, "SCRAM-SHA-256")

    assert list(connection_findings(reached, ["10.0.0.1:9093", "10.0.0.2:9093"])) == [
        ok("DNS", "shop:9093", "it is 10.0.0.1:9093, 10.0.0.2:9093"),
        ok("TCP", "shop:9093", "10.0.0.1:9093 accepts connections"),
        ok("TLS", "shop:9093", "its certificate is trusted and fits its name"),
        ok("ApiVersions", "shop:9093", "it is a Kafka broker (8 ms)"),
        ok("SASL", "shop:9093", "it accepts the login by SCRAM-SHA-256"),
    ]


def test_an_address_is_not_looked_up() -> None:
    reached = Reached("10.0.0.1:9092", "10.0.0.1:9092", 1, False)

    assert [one.check for one in connection_findings(reached, ["10.0.0.1:9092"])] == [
        "TCP",
        "ApiVersions",
    ]


def test_an_address_of_several_that_fails_is_a_warning() -> None:
    reached = Reached("shop:9092", "10.0.0.2:9092", 1, False, failures=(REFUSED,))

    first = next(connection_findings(reached, []))

    assert (first.status, first.seen) == (
        Status.WARNING,
        "TCP at 10.0.0.1:9092: connection refused; is it?",
    )


def test_the_words_of_a_failure_are_those_of_the_clients() -> None:
    unreached = Unreached("shop:9092", Stage.TCP, NodeUnavailableError("x"), (REFUSED,))

    assert list(connection_findings(unreached, [])) == [
        failed(
            "TCP",
            "shop:9092",
            "at 10.0.0.1:9092: connection refused",
            MEANINGS[Stage.TCP],
            "is it?",
        )
    ]


def test_an_advertised_address_that_fails_leads_to_the_broker() -> None:
    unreached = Unreached("shop:9092", Stage.TCP, NodeUnavailableError("x"), (REFUSED,))

    (finding,) = connection_findings(unreached, [], is_advertised=True)

    assert finding.meaning == f"{MEANINGS[Stage.TCP]}; {ADVERTISED}"
    assert finding.advice == f"is it? {CORRECT_LISTENERS}"


@pytest.mark.parametrize(
    ("hint", "advice"),
    [("start it", f"start it; {CORRECT_LISTENERS}"), ("", CORRECT_LISTENERS)],
)
def test_the_advice_on_an_advertised_address_follows_the_hint_of_the_attempt(
    hint: str, advice: str
) -> None:
    attempt = slotted.evolve(REFUSED, hint=hint)
    unreached = Unreached("shop:9092", Stage.TCP, NodeUnavailableError("x"), (attempt,))

    (finding,) = connection_findings(unreached, [], is_advertised=True)

    assert finding.advice == advice


def test_a_refused_login_is_explained() -> None:
    error = SaslAuthenticationFailedError("wrong password; check it")
    error.advice = "check it"

    (finding,) = connection_findings(Unreached("shop:9092", Stage.SASL, error), [])

    assert (finding.check, finding.seen, finding.meaning, finding.advice) == (
        "SASL",
        "wrong password",
        "the broker does not accept the login",
        "check it",
    )


def test_every_stage_has_a_meaning() -> None:
    assert set(MEANINGS) == set(Stage)


def test_brokers_that_advertise_the_clients_own_machine_are_found() -> None:
    brokers = [Node(0, "localhost", 9092), Node(1, "shop", 9092)]

    assert [one.subject for one in advertised_findings("shop", brokers)] == ["broker 0"]
    assert list(advertised_findings("localhost", brokers)) == []


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.0.1.1", "::1"])
def test_every_address_of_the_clients_own_machine_is_found(host: str) -> None:
    assert len(list(advertised_findings("shop", [Node(0, host, 9092)]))) == 1


@pytest.mark.parametrize("host", ["10.0.0.1", "1127.example.org"])
def test_addresses_of_other_machines_are_not_taken_for_the_clients_own(host: str) -> None:
    assert list(advertised_findings("shop", [Node(0, host, 9092)])) == []


def test_brokers_that_advertise_the_same_address_are_found() -> None:
    (finding,) = advertised_findings("shop", [Node(0, "fe80::1", 9092), Node(1, "fe80::1", 9092)])

    assert finding.seen == "it advertises [fe80::1]:9092, and so does broker 0"


def test_servers_of_two_clusters_are_told() -> None:
    (finding,) = identity_findings("shop:9092", Identity("B"), "A")

    assert finding.seen == "it belongs to cluster B, the first server to A"
    assert list(identity_findings("shop:9092", Identity("A"), "A")) == []


def test_an_address_that_leads_to_its_broker_is_fine() -> None:
    assert list(identity_findings("shop:9092", Identity("A"), "A", Node(2, "shop", 9092))) == []


def test_an_advertised_address_of_another_cluster_is_to_be_corrected() -> None:
    (finding,) = identity_findings("shop:9092", Identity("B"), "A", Node(2, "shop", 9092))
    (bootstrap,) = identity_findings("shop:9092", Identity("B"), "A")

    assert finding.advice == CORRECT_NAME
    assert bootstrap.advice == "give servers of one cluster only"


def test_an_error_without_advice_leads_to_its_words() -> None:
    bare = slotted.evolve(REFUSED, hint="")
    (attempt,) = connection_findings(
        Unreached("shop:9092", Stage.TCP, NodeUnavailableError("x"), (bare,)), []
    )
    (refused,) = connection_findings(Unreached("shop:9092", Stage.SASL, KafkaError("no"), ()), [])

    assert attempt.advice == refused.advice == SEE_ERROR


def test_an_address_that_leads_to_another_broker_is_told() -> None:
    another = Identity("A", is_the_broker=False)

    (finding,) = identity_findings("shop:9092", another, "A", Node(2, "shop", 9092))

    assert (finding.subject, finding.seen) == (
        "broker 2",
        "it advertises shop:9092, where another broker answers",
    )


def test_a_finding_is_text_and_json() -> None:
    finding = warning("clock", "orders", "seen", "meant", "done")

    assert finding.lines() == ["clock orders: seen", "means: meant", "do: done"]
    assert finding.form() == {
        "check": "clock", "subject": "orders", "status": "warning", "seen": "seen",
        "meaning": "meant", "advice": "done",
    }  # fmt: skip
    assert Finding("a", "b", Status.OK, "c").lines() == ["a b: c"]
    assert ok("a", "b", "c").form()["meaning"] is ok("a", "b", "c").form()["advice"] is None
