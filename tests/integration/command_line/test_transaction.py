"""``pyk transaction`` from scripts and on a terminal."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pyk.clients import Producer
from pyk.reference_broker import Cluster
from support.pyk_command import Ran, run, run_on_terminal


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Run a cluster where the transactional id ``shop`` has a transaction open."""
    with Cluster() as cluster:
        cluster.create_topic("orders")
        cluster.create_topic("quiet")
        with Producer(cluster.bootstrap, transactional_id="shop") as producer:
            producer.begin_transaction()
            producer.send_and_wait("orders", b"one")
            yield cluster


def transaction(cluster: Cluster, *words: object) -> Ran:
    return run("transaction", *words, "-b", cluster.bootstrap)


def shown(cluster: Cluster, *words: object, typed: str = "") -> Ran:
    return run_on_terminal("transaction", *words, "-b", cluster.bootstrap, typed=typed)


def test_transactions_are_listed(cluster: Cluster) -> None:
    (form,) = transaction(cluster, "list", "--json").json

    assert (form["transactionalId"], form["state"]) == ("shop", "Ongoing")
    assert transaction(cluster, "list").lines == [f"shop\tOngoing\t{form['producerId']}\t0"]
    assert transaction(cluster, "list", "--state", "Empty").out == ""
    assert transaction(cluster, "list", "--open-for", 3600).out == ""
    assert shown(cluster, "list").lines[0].split() == [
        "Transactional", "id", "State", "Producer", "id", "Coordinator"
    ]  # fmt: skip


def test_a_transaction_is_described(cluster: Cluster) -> None:
    (form,) = transaction(cluster, "describe", "shop", "--json").json

    assert (form["state"], form["partitions"]) == ("Ongoing", ["orders-0"])
    assert form["openSince"].endswith("Z")
    assert "Partitions\torders-0" in transaction(cluster, "describe", "shop").lines
    assert "Partitions        orders-0" in shown(cluster, "describe", "shop").lines


def test_the_producers_of_a_partition_are_shown(cluster: Cluster) -> None:
    (form,) = transaction(cluster, "producers", "orders", "--open", "--json").json

    assert (form["topic"], form["partition"], form["startOffset"]) == ("orders", 0, 0)
    assert transaction(cluster, "producers", "orders:0").lines[0].startswith("orders\t0\t")
    assert shown(cluster, "producers", "orders").lines[0].startswith("Topic   Partition  Producer")


def test_a_transaction_that_hangs_is_aborted(cluster: Cluster) -> None:
    done = transaction(cluster, "abort", "orders:0", "--start-offset", 0, "--json")

    assert (done.code, done.json[0]["startOffset"]) == (0, 0)
    assert transaction(cluster, "producers", "orders", "--open").out == ""


def test_a_state_that_does_not_exist_is_wrong_usage(cluster: Cluster) -> None:
    ran = run("transaction", "list", "--state", "Going", "-b", cluster.bootstrap)

    assert ran.code == 2
    assert ran.err.startswith("error: there is no transaction state 'Going'; there are Empty, ")


def test_aborting_asks_on_a_terminal(cluster: Cluster) -> None:
    words = ("abort", "orders:0", "--start-offset", 0)

    kept = shown(cluster, *words, typed="n\n")
    still = transaction(cluster, "producers", "orders", "--open")
    done = shown(cluster, *words, typed="y\n")

    assert (kept.code, done.code) == (1, 0)
    assert "Abort the transaction of producer" in kept.out
    assert len(still.lines) == 1
    assert done.lines[-1].endswith("aborted")


def test_the_producers_of_a_transactional_id_are_fenced(cluster: Cluster) -> None:
    (form,) = transaction(cluster, "fence", "shop", "--json").json

    assert form["transactionalId"] == "shop"
    assert transaction(cluster, "producers", "orders", "--open").out == ""


def test_fencing_asks_on_a_terminal(cluster: Cluster) -> None:
    kept = shown(cluster, "fence", "shop", typed="n\n")
    done = shown(cluster, "fence", "shop", "-y")

    assert (kept.code, done.code) == (1, 0)
    assert "Fence the producers of shop? [y/N]:" in kept.out
    assert done.lines == ["producers of shop fenced"]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("describe shpo", "no coordinator knows 'shpo'; did you mean 'shop'?"),
        ("abort orders:0 --start-offset 7",
         "orders-0 has no open transaction that starts at 7; those that are open start at 0"),
        ("abort quiet:0 --start-offset 7",
         "quiet-0 has no open transaction that starts at 7; none is open there"),
        ("producers ordrs", "topic 'ordrs' does not exist; did you mean 'orders'?"),
    ],
)  # fmt: skip
def test_errors_say_what_to_do(cluster: Cluster, words: str, line: str) -> None:
    ran = transaction(cluster, *words.split())

    assert (ran.code, ran.out, ran.err) == (1, "", f"error: {line}\n")
