"""A forked process has neither the TLS session nor the login of its parent, and ends neither."""

from __future__ import annotations

import gc
import os

import pytest

from pyk.clients import Producer
from pyk.clients.errors import ForkedClientError
from pyk.reference_broker import Cluster
from support.forks import status_of_fork

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


def test_a_forked_process_makes_its_own_session_and_leaves_that_of_its_parent() -> None:
    with Cluster(tls=True, sasl={"alice": "secret"}) as cluster:
        cluster.create_topic("orders")
        options = cluster.client_options()
        with Producer(**options) as producer:
            producer.send("orders", b"before").result(10)
            logins = len(cluster.requests("SaslHandshake"))

            assert status_of_fork(lambda: _use_both(producer, options)) == 0

            in_child = len(cluster.requests("SaslHandshake")) - logins
            assert in_child >= 1
            producer.send("orders", b"after").result(10)
            assert len(cluster.requests("SaslHandshake")) == logins + in_child


def _use_both(inherited: Producer, options: dict[str, str]) -> int:
    """Use the parent's client and a new one in the child; return the exit status."""
    try:
        inherited.send("orders", b"child")
    except ForkedClientError:
        inherited.close()
    else:
        return 1
    del inherited
    gc.collect()
    with Producer(**options) as producer:
        producer.send("orders", b"child").result(10)
    return 0
