"""The users that a cluster is given: what is not one is refused, and no password is shown."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.reference_broker import Cluster
from pyk.reference_broker.listener_arguments import client_options
from pyk.reference_broker.listeners import SecurityProtocol


@pytest.mark.parametrize(
    ("sasl", "words"),
    [
        (True, "sasl must map users to passwords.*not bool"),
        (("alice", "canary"), "sasl must map users to passwords.*not tuple"),
        ({"alice": b"canary"}, "the password of 'alice' must be a str, not bytes"),
        ({b"alice": "canary"}, "the name of a user must be a str, not bytes"),
    ],
)
def test_users_that_are_not_passwords_by_name_are_refused(sasl: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words) as caught:
        Cluster(sasl=sasl)

    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("sasl", "words"),
    [
        ({}, "sasl names no user"),
        ({"alice": ""}, "the password of 'alice' is empty"),
        ({"": "canary"}, "the name of a user is empty"),
        ({"broker": "canary"}, "brokers log in to each other as 'broker'"),
    ],
)
def test_users_that_could_not_log_in_are_refused(sasl: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        Cluster(sasl=sasl)

    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("tls", ["cert.pem", 1, None])
def test_files_of_certificates_are_no_value_of_tls(tls: Any) -> None:
    with pytest.raises(TypeError, match=r"tls must be True or False.*ssl\.keystore\.location"):
        Cluster(tls=tls)


def test_a_listener_whose_passwords_are_unknown_has_no_client_options() -> None:
    with pytest.raises(ValueError, match="with auth= and security_protocol="):
        client_options("localhost:9092", SecurityProtocol.SASL_SSL, {}, None)
