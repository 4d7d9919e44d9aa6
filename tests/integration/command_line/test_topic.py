"""``pyk topic`` from scripts and on a terminal."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients import Producer
from pyk.reference_broker import Cluster
from support.pyk_command import Ran, run, run_on_terminal


@pytest.fixture
def cluster() -> Any:
    with Cluster() as cluster:
        yield cluster


def topic(cluster: Cluster, *words: object, stdin: str = "") -> Ran:
    return run("topic", *words, "-b", cluster.bootstrap, stdin=stdin)


def shown(cluster: Cluster, *words: object, typed: str = "") -> Ran:
    return run_on_terminal("topic", *words, "-b", cluster.bootstrap, typed=typed)


def test_topics_are_created_listed_and_deleted_by_a_script(cluster: Cluster) -> None:
    created = topic(cluster, "create", "orders", "bills", "-p", "3", "-c", "retention.ms=60000")
    listed = topic(cluster, "list")
    deleted = topic(cluster, "delete", "bills")

    assert (created, deleted) == (Ran(0, ""), Ran(0, ""))
    assert listed.out == "bills\t3\norders\t3\n"
    assert topic(cluster, "list").out == "orders\t3\n"


def test_a_topic_that_is_named_twice_is_created_once(cluster: Cluster) -> None:
    assert topic(cluster, "create", "orders", "orders") == Ran(0, "")
    assert topic(cluster, "list").out == "orders\t1\n"


@pytest.mark.parametrize("option", ["--partitions", "--replication-factor"])
def test_numbers_that_no_request_can_carry_are_wrong_usage(cluster: Cluster, option: str) -> None:
    refused = topic(cluster, "create", "orders", option, 1 << 31)

    assert refused.code == 2
    assert "2147483648 is not in the range 1<=x<=" in refused.err


def test_topics_are_created_listed_and_deleted_on_a_terminal(cluster: Cluster) -> None:
    created = shown(cluster, "create", "orders")
    listed = shown(cluster, "list")
    kept = shown(cluster, "delete", "orders", typed="n\n")
    deleted = shown(cluster, "delete", "orders", typed="y\n")

    assert created.lines == ["topic orders created: 1 partition, replication factor 1"]
    assert listed.lines == ["Topic   Partitions", "orders           1"]
    assert kept.code == 1
    assert kept.lines[-1].endswith("error: not confirmed; nothing was changed")
    assert deleted.lines[-1] == "Delete orders with all records? [y/N]: topic orders deleted"


def test_json_has_every_fact(cluster: Cluster) -> None:
    (created,) = topic(cluster, "create", "orders", "--json").json
    (listed,) = topic(cluster, "list", "--json").json
    (deleted,) = topic(cluster, "delete", "orders", "--json").json

    assert created == {
        "topic": "orders", "id": created["id"], "partitions": 1, "replicationFactor": 1,
        "isNew": True,
    }  # fmt: skip
    assert listed == {
        "topic": "orders", "id": created["id"], "partitions": 1, "isInternal": False,
    }  # fmt: skip
    assert deleted == {"topic": "orders"}


def test_patterns_choose_topics(cluster: Cluster) -> None:
    topic(cluster, "create", "orders-a", "orders-b", "bills")

    assert topic(cluster, "list", "orders-*").out == "orders-a\t1\norders-b\t1\n"


def test_a_dry_run_creates_nothing(cluster: Cluster) -> None:
    ran = shown(cluster, "create", "orders", "--dry-run")

    assert ran.lines == ["topic orders would be created: 1 partition, replication factor 1"]
    assert topic(cluster, "list").out == ""


def test_topics_that_exist_fail_unless_they_may(cluster: Cluster) -> None:
    topic(cluster, "create", "orders")

    refused = topic(cluster, "create", "orders", "bills")
    allowed = topic(cluster, "create", "orders", "--if-not-exists", "--json")

    assert (refused.code, allowed.code) == (1, 0)
    assert refused.err == (
        "error: 1 of 2 failed; orders: TOPIC_ALREADY_EXISTS (36): Topic 'orders' already exists.\n"
    )
    assert allowed.json == [{"topic": "orders", "isNew": False}]
    assert topic(cluster, "create", "o", "orders", "--if-not-exists").code == 0


def test_a_topic_is_described(cluster: Cluster) -> None:
    topic(cluster, "create", "orders", "-p", "2", "-c", "retention.ms=60000")
    (form,) = topic(cluster, "describe", "orders", "--json").json

    assert form["configs"] == {"retention.ms": "60000"}
    assert form["partitions"][1] == {
        "partition": 1, "leader": 0, "leaderEpoch": 0, "replicas": [0], "inSyncReplicas": [0],
        "offlineReplicas": [], "startOffset": 0, "endOffset": 0,
    }  # fmt: skip
    assert topic(cluster, "describe", "orders").lines == [
        "Topic\torders",
        f"Id\t{form['id']}",
        "Is internal\tno",
        "Configs\tretention.ms=60000",
        "0\t0\t0\t0\t0\t0",
        "1\t0\t0\t0\t0\t0",
    ]
    assert shown(cluster, "describe", "orders").lines == [
        "Topic        orders",
        f"Id           {form['id']}",
        "Is internal  no",
        "Configs      retention.ms=60000",
        "Partition  Leader  Replicas  In sync  Start offset  End offset",
        "        0       0  0         0                   0           0",
        "        1       0  0         0                   0           0",
    ]


def test_an_offset_beyond_the_end_deletes_nothing(cluster: Cluster) -> None:
    cluster.seed({"orders": [b"one", b"two"]})

    refused = topic(cluster, "records", "orders", "--delete-before", "3")
    all_of_it = topic(cluster, "records", "orders", "--delete-before", "2")

    assert refused == Ran(
        1, "",
        "error: orders-0 ends at offset 2, before 3; nothing was deleted: choose partitions with "
        "-p, or delete all with --delete-before latest\n",
    )  # fmt: skip
    assert all_of_it.out == "orders\t0\t2\t2\t0\n"


def test_a_setting_that_does_not_exist_is_not_unset(cluster: Cluster) -> None:
    topic(cluster, "create", "orders")

    assert topic(cluster, "alter", "orders", "--unset", "retenion.ms") == Ran(
        1, "", "error: topic 'orders' has no setting 'retenion.ms'; did you mean 'retention.ms'?\n"
    )


def test_a_topic_gets_partitions_and_settings(cluster: Cluster) -> None:
    topic(cluster, "create", "orders")

    changed = shown(cluster, "alter", "orders", "-p", "3", "-c", "retention.ms=60000")
    (form,) = topic(cluster, "describe", "orders", "--json").json
    topic(cluster, "alter", "orders", "--unset", "retention.ms")
    (reset,) = topic(cluster, "describe", "orders", "--json").json

    assert changed.lines == ["topic orders changed"]
    assert (len(form["partitions"]), form["configs"]) == (3, {"retention.ms": "60000"})
    assert reset["configs"] == {}


def test_records_are_counted_and_deleted(cluster: Cluster) -> None:
    cluster.create_topic("orders")
    with Producer(cluster.bootstrap) as producer:
        producer.send_batch("orders", [b"x"] * 10).result()

    assert topic(cluster, "records", "orders").out == "orders\t0\t0\t10\t10\n"
    assert (
        topic(cluster, "records", "orders", "--delete-before", "4").out == "orders\t0\t4\t10\t6\n"
    )
    assert shown(cluster, "records", "orders", "--delete-before", "-1", "--yes").lines == [
        "Topic   Partition  Start offset  End offset  Offsets",
        "orders          0             9          10        1",
    ]
    assert topic(cluster, "records", "orders", "--json").json == [
        {"topic": "orders", "partition": 0, "startOffset": 9, "endOffset": 10, "count": 1}
    ]


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (["describe", "ordrs"], 1, "topic 'ordrs' does not exist; did you mean 'orders'?"),
        (["delete", "x"], 1, "topic 'x' does not exist; see pyk topic list"),
        (["alter", "ordrs", "-p", "3"], 1, "topic 'ordrs' does not exist; did you mean 'orders'?"),
        (["records", "orders", "-p", "7"], 1, "topic 'orders' has no partition 7"),
        (["alter", "orders"], 2,
         "nothing to change: give --partitions, --config or --unset (see pyk topic alter --help)"),
        (["create", "a", "-c", "retenion.ms=1"], 1,
         ("INVALID_CONFIG (40): unknown topic configuration 'retenion.ms'; did you mean "
         "'retention.ms'? (topic 'a')")),
        (["records", "orders", "--delete-before", "noon"], 2,
         ("Invalid value for '--delete-before': 'noon' must be earliest, latest, an offset, -N for "
         "the last N, a time such as 2026-03-01T12:00, or 15m (see pyk topic records --help)")),
    ],
)  # fmt: skip
def test_errors_say_what_to_do(cluster: Cluster, words: list[str], code: int, line: str) -> None:
    topic(cluster, "create", "orders")

    assert topic(cluster, *words) == Ran(code, "", f"error: {line}\n")


def test_deleting_a_topic_that_need_not_exist_works(cluster: Cluster) -> None:
    assert topic(cluster, "delete", "x", "--if-exists") == Ran(0, "")
