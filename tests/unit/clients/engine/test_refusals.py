"""When a client that was refused may try again, and which connections share a refusal."""

from __future__ import annotations

from pyk.clients.engine.refusals import Refusals
from pyk.clients.errors import SaslAuthenticationFailedError, SslAuthenticationError

CREDENTIALS = SaslAuthenticationFailedError("wrong password")
CERTIFICATE = SslAuthenticationError("expired")


def test_nothing_waits_before_a_refusal() -> None:
    refusals = Refusals()

    assert refusals.due_in(1, 5.0) == 0.0
    assert refusals.error(1) is None


def test_refused_credentials_concern_all_nodes_for_a_second() -> None:
    refusals = Refusals()
    refusals.refused(1, CREDENTIALS, 5.0)

    assert refusals.due_in(2, 5.25) == 0.75
    assert refusals.error(2) is CREDENTIALS
    assert refusals.due_in(2, 6.0) == 0.0


def test_a_refused_certificate_concerns_its_node() -> None:
    refusals = Refusals()
    refusals.refused(1, CERTIFICATE, 5.0)

    assert refusals.due_in(1, 5.0) == 1.0
    assert refusals.due_in(2, 5.0) == 0.0


def test_one_connection_tries_and_the_others_wait_for_its_outcome() -> None:
    refusals = Refusals()
    refusals.refused(1, CREDENTIALS, 5.0)
    count = refusals.count(2)

    refusals.begin(1, 6.0)

    assert refusals.due_in(2, 6.0) == 1.0
    refusals.refused(1, CREDENTIALS, 6.1)
    assert refusals.count(2) > count


def test_a_connection_that_is_made_ends_the_wait() -> None:
    refusals = Refusals()
    refusals.refused(1, CREDENTIALS, 5.0)
    refusals.refused(1, CERTIFICATE, 5.0)

    refusals.accepted(1)

    assert refusals.due_in(1, 5.0) == 0.0
    assert refusals.count(1) == 0
