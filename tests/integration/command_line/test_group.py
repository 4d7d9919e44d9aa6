"""``pyk group`` from scripts and on a terminal."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pyk.clients import Admin, Consumer, Producer, ShareConsumer
from pyk.reference_broker import Cluster
from support.broker_requests import coordinator_of
from support.pyk_command import Ran, run, run_on_terminal, start
from support.raw_client import RawClient
from support.raw_streams_groups import StreamsCoordinator
from support.real_time import IN_TIME, eventually


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Run a cluster with ten records, of which the group ``billing`` has read four."""
    with Cluster() as cluster:
        cluster.create_topic("orders")
        with Producer(cluster.bootstrap) as producer:
            producer.send_batch("orders", [b"x"] * 10).result()
        with Consumer(
            cluster.bootstrap,
            topics=["orders"],
            group_id="billing",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        ) as consumer:
            eventually(lambda: bool(consumer.poll(1)))
            consumer.commit({("orders", 0): 4})  # type: ignore[dict-item]
        yield cluster


def group(cluster: Cluster, *words: object) -> Ran:
    return run("group", *words, "-b", cluster.bootstrap)


def shown(cluster: Cluster, *words: object, typed: str = "") -> Ran:
    return run_on_terminal("group", *words, "-b", cluster.bootstrap, typed=typed)


def test_groups_are_listed(cluster: Cluster) -> None:
    assert group(cluster, "list").out == "billing\tEmpty\tclassic\tconsumer\t0\n"
    assert group(cluster, "list", "x*").out == ""
    assert group(cluster, "list", "--state", "Stable").out == ""
    misspelt = group(cluster, "list", "--state", "Stabel")
    assert misspelt.code == 2
    assert "a state must be one of" in misspelt.err
    assert group(cluster, "list", "--json").json == [
        {"group": "billing", "state": "Empty", "type": "classic", "protocolType": "consumer",
         "coordinator": 0}
    ]  # fmt: skip
    assert shown(cluster, "list").lines == [
        "Group    State  Type     Protocol  Coordinator",
        "billing  Empty  classic  consumer            0",
    ]


def test_a_group_is_described_with_its_members(cluster: Cluster) -> None:
    with Consumer(cluster.bootstrap, group_id="billing", topics=["orders"]) as consumer:
        eventually(lambda: bool(consumer.poll(0.1)) or bool(consumer.assignment()))
        (form,) = group(cluster, "describe", "billing", "--json").json
        piped = group(cluster, "describe", "billing").lines
        table = shown(cluster, "describe", "billing").lines

    (member,) = form["members"]
    assert (form["state"], form["assignor"]) == ("Stable", "range")
    assert (member["clientId"], member["partitions"]) == ("pyk", ["orders-0"])
    assert piped == [
        "Group\tbilling",
        "State\tStable",
        "Type\tclassic",
        "Protocol type\tconsumer",
        "Assignor\trange",
        "Coordinator\t0",
        f"{member['memberId']}\t-\tpyk\t{member['host']}\torders-0",
    ]
    assert table[6].split() == ["Member", "Instance", "Client", "Host", "Partitions"]


def test_the_lag_is_shown(cluster: Cluster) -> None:
    assert group(cluster, "lag", "billing").out == "orders\t0\t4\t10\t6\n"
    assert group(cluster, "lag", "billing", "-t", "orders:0", "--json").json == [
        {"topic": "orders", "partition": 0, "committedOffset": 4, "endOffset": 10, "lag": 6}
    ]
    assert shown(cluster, "lag", "billing").lines == [
        "Topic   Partition  Committed  Log end  Lag",
        "orders          0          4       10    6",
        "Total lag: 6",
    ]


def test_the_lag_is_watched_until_ctrl_c(cluster: Cluster) -> None:
    words = ("group", "lag", "billing", "-w", "--interval", "0.05", "--json")
    with start(*words, "-b", cluster.bootstrap) as process:
        assert process.stdout is not None
        seen = [process.stdout.readline() for _ in range(3)]
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=IN_TIME)

    assert len(set(seen)) == 1
    assert (process.returncode, err) == (0, b"")


@pytest.mark.parametrize(
    ("when", "new"), [("earliest", 0), ("latest", 10), ("7", 7), ("-2", 8), ("1h", 0)]
)
def test_a_group_is_reset(cluster: Cluster, when: str, new: int) -> None:
    tried = group(cluster, "reset", "billing", "--to", when, "--dry-run")
    lag_before = group(cluster, "lag", "billing").out
    done = group(cluster, "reset", "billing", "--to", when, "--json").json

    assert tried.out == f"orders\t0\t4\t{new}\n"
    assert lag_before == "orders\t0\t4\t10\t6\n"
    assert done == [
        {"group": "billing", "topic": "orders", "partition": 0, "committedOffset": 4,
         "newOffset": new}
    ]  # fmt: skip
    assert group(cluster, "lag", "billing").out == f"orders\t0\t{new}\t10\t{10 - new}\n"


def test_a_new_group_is_given_offsets(cluster: Cluster) -> None:
    assert group(cluster, "reset", "new", "--to", "3", "-t", "orders").out == "orders\t0\t-\t3\n"
    assert group(cluster, "lag", "new").out == "orders\t0\t3\t10\t7\n"


def test_a_reset_is_confirmed_on_a_terminal(cluster: Cluster) -> None:
    kept = shown(cluster, "reset", "billing", "--to", "0", typed="n\n")
    done = shown(cluster, "reset", "billing", "--to", "0", typed="y\n")

    assert kept.code == 1
    assert done.lines[-1] == "orders          0          4    0"


def test_a_group_with_members_is_neither_reset_nor_deleted(cluster: Cluster) -> None:
    with Consumer(cluster.bootstrap, group_id="billing", topics=["orders"]) as consumer:
        eventually(lambda: bool(consumer.poll(0.1)) or bool(consumer.assignment()))
        reset = group(cluster, "reset", "billing", "--to", "0")
        deleted = group(cluster, "delete", "billing")

    assert reset == Ran(
        1,
        "",
        "error: group 'billing' has members, which would go on where they are: stop them first\n",
    )
    assert deleted.code == 1
    assert deleted.err.endswith("; stop its members first\n")


def test_groups_and_their_offsets_are_deleted(cluster: Cluster) -> None:
    offsets = group(cluster, "delete", "billing", "--offsets-of", "orders")
    lag = group(cluster, "lag", "billing")
    deleted = shown(cluster, "delete", "billing", "--yes")

    assert (offsets, lag) == (Ran(0, ""), Ran(0, ""))
    assert deleted.lines == ["group billing deleted"]
    assert group(cluster, "list").out == ""


@pytest.mark.parametrize("kind", ["consumer", "share"])
def test_groups_of_other_types_are_described_and_not_changed_under_their_members(
    cluster: Cluster, kind: str
) -> None:
    with member_of_a_group(cluster, kind):
        (form,) = group(cluster, "describe", "new", "--json").json
        lag = group(cluster, "lag", "new")
        reset = group(cluster, "reset", "new", "--to", "0", "-t", "orders")
        deleted = group(cluster, "delete", "new")

    (shown,) = form["members"]
    assert (form["type"], form["state"], shown["partitions"]) == (kind, "Stable", ["orders-0"])
    assert lag.code == 0
    assert "stop them first" in reset.err
    assert deleted.err.endswith("; stop its members first\n")


@pytest.mark.parametrize(
    ("kind", "lag"), [("consumer", "orders\t0\t3\t10\t7\n"), ("share", "orders\t0\t3\t7\n")]
)
def test_groups_of_other_types_are_reset_and_deleted(cluster: Cluster, kind: str, lag: str) -> None:
    with member_of_a_group(cluster, kind):
        pass

    assert group(cluster, "reset", "new", "--to", "3", "-t", "orders").code == 0
    assert group(cluster, "lag", "new").out == lag
    assert group(cluster, "describe", "new", "--json").json[0]["state"] == "Empty"
    assert group(cluster, "delete", "new", "--offsets-of", "orders") == Ran(0, "")
    assert group(cluster, "lag", "new") == Ran(0, "")
    assert group(cluster, "delete", "new") == Ran(0, "")


def test_a_share_group_forgets_whole_topics(cluster: Cluster) -> None:
    with member_of_a_group(cluster, "share"):
        pass

    assert group(cluster, "delete", "new", "--offsets-of", "orders:0") == Ran(
        2,
        "",
        "error: 'new' is a share group, which forgets whole topics: "
        "name orders without partitions\n",
    )


def test_a_streams_group_is_described_reset_and_deleted(cluster: Cluster) -> None:
    streams_member(cluster)
    (form,) = group(cluster, "describe", "new", "--json").json
    (shown,) = form["members"]
    assert (form["type"], form["state"], form["topologyEpoch"]) == ("streams", "Stable", 0)
    assert (shown["processId"], shown["activeTasks"]) == ("process-of-a", ["0_0"])
    assert "0_0" in group(cluster, "describe", "new").out
    assert "stop them first" in group(cluster, "reset", "new", "--to", "0", "-t", "orders").err
    assert group(cluster, "delete", "new").err.endswith("; stop its members first\n")

    streams_member(cluster, leaves=True)
    assert group(cluster, "reset", "new", "--to", "3", "-t", "orders").code == 0
    assert group(cluster, "lag", "new").out == "orders\t0\t3\t10\t7\n"
    assert group(cluster, "delete", "new", "--offsets-of", "orders") == Ran(0, "")
    assert group(cluster, "delete", "new") == Ran(0, "")


def streams_member(cluster: Cluster, *, leaves: bool = False) -> None:
    """Be a member of a streams group ``new``, or leave it."""

    async def ask() -> None:
        async with RawClient(cluster.bootstrap) as client:
            await coordinator_of(client, "new")
            streams = StreamsCoordinator(client, "new", "orders", "billing-store")
            topology = streams.topology(state_changelog_topics=[])
            answer = await (
                streams.beat("a", -1) if leaves else streams.join("a", topology=topology)
            )
            assert not answer.error_code, answer

    asyncio.run(ask())


@contextmanager
def member_of_a_group(cluster: Cluster, kind: str) -> Iterator[None]:
    """Run a member, with partitions, of a group ``new`` of this type."""
    member: Consumer | ShareConsumer
    if kind == "share":
        member = ShareConsumer(cluster.bootstrap, topics=["orders"], group_id="new")
    else:
        member = Consumer(
            cluster.bootstrap, topics=["orders"], group_id="new", group_protocol="consumer"
        )
    with member, Admin(cluster.bootstrap) as admin:
        eventually(lambda: member.poll(0.1) is not None and has_partitions(admin, kind))
        yield


def has_partitions(admin: Admin, kind: str) -> bool:
    if kind == "share":
        members = admin.describe_share_groups(["new"])["new"].members
        return any(member.assignment for member in members)
    described = admin.describe_consumer_groups(["new"])["new"]
    return any(member.assignment for member in described.members)


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (["describe", "billing", "nosuch"], 1, "group 'nosuch' does not exist; see pyk group list"),
        (["describe", "biling"], 1, "group 'biling' does not exist; did you mean 'billing'?"),
        (["lag", "x"], 1, "group 'x' does not exist; see pyk group list"),
        (["delete", "biling"], 1, "group 'biling' does not exist; did you mean 'billing'?"),
        (["reset", "x", "--to", "0"], 1,
         "group 'x' has committed no offsets; name topics with --topic"),
        (["lag", "billing", "-t", "orders:x"], 2,
         "'orders:x' must be TOPIC or TOPIC:PARTITION,…"),
        (["lag", "billing", "-t", "orders:7"], 1, "topic 'orders' has no partition 7"),
        (["reset", "billing"], 2, "Missing option '--to' (see pyk group reset --help)"),
    ],
)  # fmt: skip
def test_errors_say_what_to_do(cluster: Cluster, words: list[str], code: int, line: str) -> None:
    assert group(cluster, *words) == Ran(code, "", f"error: {line}\n")
