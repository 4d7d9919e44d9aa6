"""``pyk copy`` from scripts and on a terminal."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pyk.clients import Producer
from pyk.reference_broker import Cluster
from support.pyk_command import Ran, run, run_on_terminal

FORMAT = ("-f", "%p %k=%s %h %T\\n")


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:
        cluster.create_topic("orders", partitions=2)
        cluster.create_topic("copies", partitions=2)
        with Producer(cluster.bootstrap) as producer:
            for number, partition in enumerate([1, 0, 1]):
                producer.send(
                    "orders", b"%d" % number, b"k", partition=partition, headers=[("h", b"1")],
                    timestamp_ms=1_000 + number,
                )  # fmt: skip
        yield cluster


def copy(cluster: Cluster, *words: object) -> Ran:
    return run("copy", *words, "-b", cluster.bootstrap)


def records(cluster: Cluster, topic: str) -> list[str]:
    return sorted(run("consume", topic, "-b", cluster.bootstrap, *FORMAT).lines)


def test_everything_is_copied_as_it_is(cluster: Cluster) -> None:
    assert copy(cluster, "orders", "copies", "--keep-partitions") == Ran(0, "")

    assert records(cluster, "copies") == ["0 k=1 h=1 1001", "1 k=0 h=1 1000", "1 k=2 h=1 1002"]


def test_another_cluster_is_named_by_its_address(cluster: Cluster) -> None:
    with Cluster() as other:
        ran = copy(cluster, "orders", "orders", "--to-bootstrap", other.bootstrap, "--json")

        assert ran.json == [{"source": "orders", "target": "orders", "records": 3}]
        assert len(records(other, "orders")) == 3


def test_a_range_is_copied(cluster: Cluster) -> None:
    copy(cluster, "orders", "copies", "--from", "@1001", "-n", 1)

    assert len(records(cluster, "copies")) == 1


def test_a_copy_of_a_group_goes_on_where_it_was(cluster: Cluster) -> None:
    counts = [
        copy(cluster, "orders", "copies", "-g", "copier", "--json", *more).json[0]["records"]
        for more in (("-n", 2), (), ())
    ]

    assert counts == [2, 1, 0]
    assert len(records(cluster, "copies")) == 3


def test_a_record_that_is_refused_is_not_committed(cluster: Cluster) -> None:
    b = cluster.bootstrap
    cluster.create_topic("small", configs={"max.message.bytes": "500"})
    cluster.create_topic("mixed")
    with Producer(b) as producer:
        producer.send_batch("mixed", [b"first", b"x" * 2_000, b"last"]).result()

    refused = copy(cluster, "mixed", "small", "-g", "copier")
    run("config", "set", "topic", "small", "max.message.bytes=5000", "-b", b)
    repeated = copy(cluster, "mixed", "small", "-g", "copier")

    assert (refused.code, repeated.code) == (1, 0)
    assert set(run("consume", "small", "-b", b).lines) == {"first", "x" * 2_000, "last"}


def test_what_was_aborted_is_not_copied(cluster: Cluster) -> None:
    with Producer(cluster.bootstrap, transactional_id="shop") as producer:
        producer.begin_transaction()
        producer.send_and_wait("orders", b"aborted")
        producer.abort_transaction()

    copied = copy(cluster, "orders", "copies", "--json")
    everything = copy(
        cluster, "orders", "copies", "--json", "-X", "isolation.level=read_uncommitted"
    )

    assert [ran.json[0]["records"] for ran in (copied, everything)] == [3, 4]


def test_a_terminal_shows_how_many_were_copied(cluster: Cluster) -> None:
    shown = run_on_terminal("copy", "orders", "copies", "-b", cluster.bootstrap)

    assert shown.lines == ["3 records copied from orders to copies"]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["orders", "orders"], "SOURCE and TARGET are the same topic"),
        (["a", "b", "-F", "--until", "1"], "--follow and --until exclude each other"),
        (["a", "b", "--from", "latest", "--until", "earliest"],
         "--until is before --from, so there is nothing to read"),
        (["a", "b", "-g", "g", "--from", "1"],
         "--group continues where the group is, without --from and --until"),
    ],
)  # fmt: skip
def test_wrong_usage_is_explained(cluster: Cluster, words: list[str], line: str) -> None:
    assert copy(cluster, *words) == Ran(2, "", f"error: {line} (see pyk copy --help)\n")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--to-bootstrap", ""], "bootstrap_servers is empty"),
        (["--to-profile", ""], "there is no profile ''"),
    ],
)
def test_an_empty_name_of_the_other_cluster_is_not_taken_for_this_one(
    cluster: Cluster, words: list[str], line: str
) -> None:
    ran = copy(cluster, "orders", "copies", *words)

    assert ran.code == 2
    assert line in ran.err


def test_an_unknown_source_fails(cluster: Cluster) -> None:
    assert copy(cluster, "ordrs", "copies") == Ran(
        1, "", "error: topic 'ordrs' does not exist; did you mean 'orders'?\n"
    )
