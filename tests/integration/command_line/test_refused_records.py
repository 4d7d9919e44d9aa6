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


def test_a_command_that_fails_tells_how_many_records_are_acknowledged() -> None:
    with Cluster() as cluster:
        cluster.create_topic("small", configs={"max.message.bytes": "500"})
        lines = ["x"] * 3 + ["x" * 2_000] + ["x"] * 2
        address = ["-b", cluster.bootstrap]

        refused = run("produce", "small", *address, stdin="\n".join(lines))
        broken = run("produce", "small", "-K", ":", *address, stdin="a:1\nb:2\nc\nd:4\n")

        assert len(cluster.records("small")) == 7

    assert refused.err.endswith("; 5 records acknowledged\n")
    assert broken.err.endswith(" no separator ':' after the key; 2 records acknowledged\n")
