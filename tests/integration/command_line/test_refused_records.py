"""Records that brokers refuse fail the command that sent them."""

from __future__ import annotations

from pyk.reference_broker import Cluster
from support.pyk_command import run


def test_a_record_that_the_broker_refuses_fails_the_command() -> None:
    with Cluster() as cluster:
        cluster.create_topic("small", configs={"max.message.bytes": "500"})

        ran = run("produce", "small", "-b", cluster.bootstrap, stdin="x" * 2_000 + "\n")

    assert (ran.code, ran.out) == (1, "")
    assert "MESSAGE_TOO_LARGE" in ran.err
