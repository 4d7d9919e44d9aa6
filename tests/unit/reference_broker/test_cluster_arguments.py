"""What a test asks of a cluster: what could never work is refused where it is written."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker import Cluster
from pyk.reference_broker.faults import FaultRule, FaultRules


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda rule: rule.times("3"), TypeError, "times must be an int, not '3'"),
        (lambda rule: rule.times(True), TypeError, "times must be an int, not True"),
        (lambda rule: rule.times(0), ValueError, "times must be 1 or more, not 0"),
        (lambda rule: rule.after(-1), ValueError, "after must be 0 or more, not -1"),
        (
            lambda rule: rule.probability("10%"),
            TypeError,
            "probability must be a number, not '10%'",
        ),
        (lambda rule: rule.delay("1s"), TypeError, "delay must be a number, not '1s'"),
        (lambda rule: rule.delay(timedelta(1)), TypeError, "delay must be a number, not datetime"),
        (
            lambda rule: rule.delay(-1),
            ValueError,
            "delay must be a finite number from 0 on, not -1",
        ),
        (lambda rule: rule.delay(float("nan")), ValueError, "delay must be a finite number"),
        (lambda rule: rule.throttle(0.5), TypeError, "throttle must be an int, not 0.5"),
        (lambda rule: rule.truncate(-1), ValueError, "truncate must be 0 or more, not -1"),
        (lambda rule: rule.throttle(2**31), ValueError, "throttle must be at most 2147483647 ms"),
        (
            lambda rule: rule.error(40_000),
            ValueError,
            "error must be a number of 16 bits, not 4000",
        ),
    ],
)
def test_what_a_rule_cannot_do_is_refused(
    make: Callable[[FaultRule], object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        make(FaultRules().on("Produce"))


@pytest.mark.parametrize(
    ("criteria", "error", "words"),
    [
        ({"topic": ["orders"]}, TypeError, r"topic must be a str, not \['orders'\]"),
        ({"client_id": 5}, TypeError, "client_id must be a str, not 5"),
        ({"partition": "0"}, TypeError, "partition must be an int, not '0'"),
        ({"partition": -1}, ValueError, "partition must be 0 or more, not -1"),
        ({"node": "0"}, TypeError, "node must be an int, not '0'"),
        ({"node": 7}, ValueError, "no node 7; nodes: 0, 1, 2"),
        ({"version": "11"}, TypeError, "version must be an int, not '11'"),
        ({"version": 99}, ValueError, "Produce has no version 99; versions: 3-13"),
    ],
)
def test_criteria_that_no_request_has_are_refused(
    criteria: dict[str, Any], error: type[Exception], words: str
) -> None:
    rules = FaultRules(nodes=3)

    with pytest.raises(error, match=words):
        rules.on("Produce", **criteria)

    assert rules.rules == ()


def test_rules_on_requests_that_no_broker_serves_are_refused() -> None:
    with pytest.raises(ValueError, match="no broker serves Vote: a rule on it cannot match"):
        FaultRules().on("Vote")


def test_a_node_that_is_not_there_cannot_be_paused() -> None:
    rules = FaultRules(nodes=3)

    with pytest.raises(ValueError, match="no node 3; nodes: 0, 1, 2"):
        rules.pause(3)

    assert not rules.has_any


def test_a_number_of_an_api_is_refused_as_its_name_would_be() -> None:
    with pytest.raises(ValueError, match="no API '0'; Kafka's names are like 'Produce'"):
        FaultRules().on(0)  # type: ignore[arg-type]


def test_an_error_may_be_given_by_its_number() -> None:
    rule = FaultRules().on("Produce").error(6)  # type: ignore[arg-type]

    assert rule.effect.error is ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda cluster: cluster.create_topic(["a"]),
            "name of a topic must be a str, not",
        ),
        (lambda cluster: cluster.create_topic("a", "2"), "partitions must be an int, not '2'"),
        (lambda cluster: cluster.records(["a"]), r"topic must be a str, not \['a'\]"),
        (lambda cluster: cluster.expect("a", timeout="1"), "timeout must be a number, not '1'"),
        (lambda cluster: cluster.skew_clock("1h"), "seconds must be a number, not '1h'"),
    ],
)
def test_calls_of_a_cluster_name_what_is_of_a_wrong_type(
    call: Callable[[Any], object], words: str
) -> None:
    with Cluster() as cluster, pytest.raises(TypeError, match=words):
        call(cluster)


def test_a_node_that_is_not_there_is_shown_as_it_was_given() -> None:
    with Cluster() as cluster, pytest.raises(RuntimeError, match="node '0' is not running; runni"):
        cluster.kill("0")  # type: ignore[arg-type]


def test_a_configuration_is_a_mapping() -> None:
    with pytest.raises(TypeError, match=r"config must be \{name: value\}, not \['a=b'\]"):
        Cluster(config=["a=b"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda cluster: cluster.create_topic("a", 1, "1"), "replication_factor must be an int"),
        (lambda cluster: cluster.create_topic("a", 1, True), "replication_factor must be an int"),
        (
            lambda cluster: cluster.create_topic("a", configs="x"),
            r"configs must be \{name: value\}, not 'x'",
        ),
        (
            lambda cluster: cluster.create_topic("a", configs={5: 1}),
            "configs: the name of a configuration must be a str, not 5",
        ),
        (lambda cluster: cluster.start("0"), "node must be an int, not '0'"),
        (lambda cluster: cluster.log_dirs("0"), "node must be an int, not '0'"),
        (lambda cluster: cluster.records(None), "topic must be a str, not None"),
        (lambda cluster: cluster.records("a", committed="no"), "committed must be True or False"),
        (lambda cluster: cluster.expect(None, "x"), "topic must be a str, not None"),
        (lambda cluster: cluster.expect("a", exactly="no"), "exactly must be True or False"),
        (lambda cluster: cluster.seed({None: ["x"]}), "topic must be a str, not None"),
        (lambda cluster: cluster.seed({"a": None}), "records of 'a' must be a list of records, n"),
        (lambda cluster: cluster.seed({"a": 5}), "records of 'a' must be a list of records, n"),
        (
            lambda cluster: cluster.seed({"a": [{"headers": {5: "x"}}]}),
            "the name of a header must be a str, not 5",
        ),
        (lambda cluster: cluster.requests(node="0"), "node must be an int, not '0'"),
        (lambda cluster: cluster.requests(client_id=5), "client_id must be a str, not 5"),
        (lambda cluster: cluster.faults.pause("0"), "node must be an int, not '0'"),
        (
            lambda cluster: cluster.client_properties(librdkafka="yes"),
            "librdkafka must be True or False, not 'yes'",
        ),
    ],
)
def test_calls_refuse_other_types_before_they_change_anything(
    call: Callable[[Any], object], words: str
) -> None:
    with Cluster() as cluster:
        with pytest.raises(TypeError, match=words):
            call(cluster)

        cluster.seed({"a": ["works"]})
        cluster.expect("a", "works")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda cluster: cluster.start(5), "no node 5; nodes: 0"),
        (lambda cluster: cluster.log_dirs(5), "no node 5; nodes: 0"),
        (lambda cluster: cluster.faults.on("Produce").error(0), "NONE is not an error"),
        (lambda cluster: cluster.faults.on("Produce").error("NONE"), "NONE is not an error"),
        (lambda cluster: cluster.skew_clock(float("nan")), "seconds must be a finite number"),
        (lambda cluster: cluster.skew_clock(1e30), r"from 1970 to 9999, not 1e\+30"),
        (lambda cluster: cluster.skew_clock(-1e10), r"seconds must be from -\d+ to 2\d+, so that"),
        (lambda cluster: cluster.requests(node=1), "no node 1; nodes: 0"),
        (
            lambda cluster: cluster.seed({"a": [{"timestamp_ms": 2**70}]}),
            "timestamp_ms of a record must fit in 64 bits",
        ),
        (lambda cluster: cluster.seed({"a": ["\ud800"]}), "value is not valid Unicode: '"),
    ],
)
def test_values_that_a_cluster_does_not_have_are_refused(
    call: Callable[[Any], object], words: str
) -> None:
    with Cluster() as cluster, pytest.raises(ValueError, match=words):
        call(cluster)


@pytest.mark.parametrize("code", [None, True, b"x", 1.5])
def test_an_error_that_is_neither_name_nor_number_is_refused(code: Any) -> None:
    with pytest.raises(TypeError, match="error must be one of Kafka's names"):
        FaultRules().on("Produce").error(code)


@pytest.mark.parametrize("position", [None, "x", 1.5, True])
def test_the_position_of_a_wrong_byte_is_an_int(position: Any) -> None:
    with pytest.raises(TypeError, match="position must be an int, not"):
        FaultRules().on("Produce").corrupt(position)


def test_half_open_is_a_bool() -> None:
    with pytest.raises(TypeError, match="half_open must be True or False, not 'x'"):
        FaultRules().on("Produce").apply_then_lose_response(half_open="x")  # type: ignore[arg-type]
