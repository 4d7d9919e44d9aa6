"""``pyk config`` from scripts and on a terminal."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pyk.reference_broker import Cluster
from support.pyk_command import Ran, run, run_on_terminal


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:
        cluster.create_topic("orders")
        yield cluster


def config(cluster: Cluster, *words: object) -> Ran:
    return run("config", *words, "-b", cluster.bootstrap)


def shown(cluster: Cluster, *words: object) -> Ran:
    return run_on_terminal("config", *words, "-b", cluster.bootstrap)


def test_settings_of_a_topic_are_set_shown_and_unset(cluster: Cluster) -> None:
    changed = config(cluster, "set", "topic", "orders", "retention.ms=60000", "max.message.bytes=9")
    of_script = config(cluster, "show", "topic", "orders")
    of_terminal = shown(cluster, "show", "topic", "orders")
    unset = shown(cluster, "unset", "topic", "orders", "max.message.bytes")

    assert changed == Ran(0, "")
    assert of_script.out == "max.message.bytes\t9\ttopic\nretention.ms\t60000\ttopic\n"
    assert of_terminal.lines == [
        "Setting            Value  Source",
        "max.message.bytes  9      topic",
        "retention.ms       60000  topic",
    ]
    assert unset.lines == ["topic orders changed: max.message.bytes"]
    assert config(cluster, "show", "topic", "orders", "--json").json == [
        {"name": "retention.ms", "value": "60000", "source": "topic", "isReadOnly": False}
    ]


def test_levels_of_loggers_are_set_shown_and_unset(cluster: Cluster) -> None:
    logger = "pyk.reference_broker.broker"

    changed = shown(cluster, "set", "broker-logger", "0", f"{logger}=DEBUG")
    level = config(cluster, "show", "broker-logger", "0", logger)
    unset = config(cluster, "unset", "broker-logger", "0", logger)
    wrong = config(cluster, "set", "broker-logger", "0", f"{logger}=LOUD")
    missing = config(cluster, "show", "broker-logger", "7")

    assert changed.lines == [f"broker-logger 0 changed: {logger}"]
    assert level.out == f"{logger}\tDEBUG\tbroker logger\n"
    assert unset == Ran(0, "")
    assert wrong.code == 1
    assert "Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN" in wrong.err
    assert "there is no broker 7; the cluster has 0" in missing.err


def test_settings_at_their_default_are_shown_on_demand(cluster: Cluster) -> None:
    named = config(cluster, "show", "topic", "orders", "retention.ms")
    everything = config(cluster, "show", "topic", "orders", "--all").lines

    assert named.out == "retention.ms\t604800000\tdefault\n"
    assert len(everything) > 20


def test_a_dry_run_changes_nothing(cluster: Cluster) -> None:
    ran = shown(cluster, "set", "topic", "orders", "retention.ms=60000", "--dry-run")

    assert ran.lines == ["topic orders would be changed: retention.ms"]
    assert config(cluster, "show", "topic", "orders").out == ""


def test_brokers_have_settings_of_their_own_and_shared_ones(cluster: Cluster) -> None:
    config(cluster, "set", "broker", "default", "log.retention.ms=100000")

    assert (
        "log.retention.ms\t100000\tall brokers"
        in config(cluster, "show", "broker", "default").lines
    )
    assert "log.retention.ms\t100000\tall brokers" in config(cluster, "show", "broker", "0").lines


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (["show", "topic", "ordrs"], 1, "topic 'ordrs' does not exist; did you mean 'orders'?"),
        (["show", "topic", "orders", "retenion.ms"], 1,
         "topic 'orders' has no setting 'retenion.ms'; did you mean 'retention.ms'?"),
        (["unset", "topic", "orders", "retenion.ms"], 1,
         "topic 'orders' has no setting 'retenion.ms'; did you mean 'retention.ms'?"),
        (["show", "broker", "9"], 1, "there is no broker 9; the cluster has 0"),
        (["set", "broker", "9", "log.retention.ms=1"], 1,
         "there is no broker 9; the cluster has 0"),
        (["set", "topic", "orders", "x"], 2,
         ("Invalid value for 'SETTING=VALUE…': it must be NAME=VALUE, not 'x' (see pyk config set "
         "--help)")),
        (["show", "topix", "orders"], 2,
         ("Invalid value for 'TYPE': 'topix' is not one of 'topic', 'broker', 'broker-logger', "
         "'group', 'client-metrics' (see pyk config show --help)")),
    ],
)  # fmt: skip
def test_errors_say_what_to_do(cluster: Cluster, words: list[str], code: int, line: str) -> None:
    assert config(cluster, *words) == Ran(code, "", f"error: {line}\n")
