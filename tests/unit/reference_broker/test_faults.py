from __future__ import annotations

from typing import Any

import pytest

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.faults import FaultRules, RequestFacts


def request(api_key: ApiKey = ApiKey.PRODUCE, **facts: object) -> RequestFacts:
    defaults: dict[str, object] = {"node": 0, "version": 12, "client_id": "app"}
    return RequestFacts(api_key=api_key, **{**defaults, **facts})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["Produce", "PRODUCE", "produce", ApiKey.PRODUCE])
def test_apis_go_by_any_of_their_names(name: str) -> None:
    rules = FaultRules()
    rule = rules.on(name).error("NOT_LEADER_OR_FOLLOWER")

    effect = rules.effect_on(request())

    assert effect is not None
    assert effect.error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert rule.hits == 1


def test_an_unknown_api_is_refused_with_an_example() -> None:
    with pytest.raises(ValueError, match="no API 'Prodoose'"):
        FaultRules().on("Prodoose")


def test_an_unknown_error_is_refused_with_an_example() -> None:
    with pytest.raises(ValueError, match="no error 'NOT_A_LEADER'"):
        FaultRules().on("Produce").error("NOT_A_LEADER")


@pytest.mark.parametrize(
    ("criteria", "facts", "matches"),
    [
        ({}, {}, True),
        ({"node": 1}, {}, False),
        ({"client_id": "app"}, {}, True),
        ({"client_id": "other"}, {}, False),
        ({"version": 9}, {"version": 9}, True),
        ({"version": 9}, {"version": 8}, False),
        ({"group": "g"}, {"groups": ("f", "g")}, True),
        ({"group": "g"}, {}, False),
        ({"topic": "t"}, {"partitions": (("t", 0),)}, True),
        ({"topic": "t"}, {"partitions": (("u", 0),)}, False),
        ({"topic": "t", "partition": 1}, {"partitions": (("t", 0),)}, False),
        ({"topic": "t", "partition": 1}, {"partitions": (("t", 0), ("t", 1))}, True),
        ({"topic": "t", "partition": 1}, {"partitions": (("t", None),)}, True),
        ({"partition": 1}, {"partitions": (("t", 1),)}, True),
    ],
)
def test_a_rule_matches_all_that_it_names(
    criteria: dict[str, object], facts: dict[str, object], matches: bool
) -> None:
    rules = FaultRules(nodes=2)
    rules.on("OffsetCommit", **criteria).close()  # type: ignore[arg-type]

    assert (rules.effect_on(request(ApiKey.OFFSET_COMMIT, **facts)) is not None) is matches


@pytest.mark.parametrize(
    ("api", "criteria", "words"),
    [
        ("ApiVersions", {"topic": "t"}, "ApiVersions names no topics: a rule with topic= or part"),
        ("ApiVersions", {"partition": 0}, "ApiVersions names no topics"),
        ("ListGroups", {"topic": "t"}, "ListGroups names no topics"),
        ("Heartbeat", {"topic": "t"}, "Heartbeat names no topics"),
        ("ApiVersions", {"group": "g"}, "ApiVersions names no group: a rule with group= cannot"),
        ("Produce", {"group": "g"}, "Produce names no group"),
        ("Metadata", {"group": "g"}, "Metadata names no group"),
    ],
)
def test_a_rule_that_cannot_match_is_refused(
    api: str, criteria: dict[str, Any], words: str
) -> None:
    rules = FaultRules()

    with pytest.raises(ValueError, match=words):
        rules.on(api, **criteria)

    assert rules.rules == ()


def test_an_error_concerns_the_partitions_that_the_rule_names() -> None:
    rules = FaultRules()
    rules.on("Produce", topic="t").error("NOT_LEADER_OR_FOLLOWER")

    effect = rules.effect_on(request(partitions=(("t", 0), ("u", 0), ("t", 2))))

    assert effect is not None
    assert effect.partitions == {("t", 0), ("t", 2)}


def test_rules_skip_and_end() -> None:
    rules = FaultRules()
    rule = rules.on("Produce").after(1).times(2).close()

    effects = [rules.effect_on(request()) for _ in range(5)]

    assert [effect is not None for effect in effects] == [False, True, True, False, False]
    assert rule.hits == 2


def test_delays_add_up_and_the_first_ending_wins() -> None:
    rules = FaultRules()
    rules.on("Produce").delay(100)
    rules.on("Produce").delay(50).error("REQUEST_TIMED_OUT")
    rules.on("Produce").close()

    effect = rules.effect_on(request())

    assert effect is not None
    assert effect.delay_ms == 150
    assert effect.error is ErrorCode.REQUEST_TIMED_OUT
    assert not effect.is_closed


def test_rules_end_with_their_block_or_with_all() -> None:
    rules = FaultRules()
    with rules.on("Produce").close():
        assert rules.effect_on(request()) is not None
    assert rules.effect_on(request()) is None
    rules.on("Produce").close()

    rules.clear()

    assert rules.rules == ()


def test_a_pause_is_of_one_node_or_of_all() -> None:
    rules = FaultRules(nodes=2)

    with rules.pause(1) as pause:
        assert (rules.pause_of(0), rules.pause_of(1)) == (None, pause)
    with rules.pause() as pause:
        assert rules.pause_of(0) is rules.pause_of(1) is pause
    assert rules.pause_of(0) is None


def test_a_rule_without_a_fault_only_counts_and_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rules = FaultRules()
    rule = rules.on("Produce", node=0)

    effects = [rules.effect_on(request()) for _ in range(2)]

    assert rule.hits == 2
    assert all(effect is not None and not effect.ends_request for effect in effects)
    assert [record.getMessage() for record in caplog.records] == [
        "A rule on Produce(node=0) has no fault and changes nothing: add .error(…) or another one"
    ]


@pytest.mark.parametrize("fault", ["delay", "throttle"])
def test_a_rule_that_only_delays_is_a_fault(fault: str, caplog: pytest.LogCaptureFixture) -> None:
    rules = FaultRules()
    getattr(rules.on("Produce"), fault)(100)

    rules.effect_on(request())

    assert not caplog.records


def test_a_rule_with_a_probability_applies_to_that_part_of_the_requests() -> None:
    draws = iter([0.05, 0.5, 0.1, 0.0999])
    rules = FaultRules(lambda: next(draws))
    rule = rules.on("Produce").probability(0.1).delay(1)

    effects = [rules.effect_on(request()) for _ in range(4)]

    assert [effect is not None for effect in effects] == [True, False, False, True]
    assert (rule.seen, rule.hits) == (4, 2)


@pytest.mark.parametrize("probability", [0, -1, 1.5])
def test_a_probability_is_above_0_and_at_most_1(probability: float) -> None:
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        FaultRules().on("Produce").probability(probability)


def test_only_requests_that_tell_metadata_can_be_stale() -> None:
    with pytest.raises(ValueError, match=r"\(Metadata, DescribeTopicPartitions, .*not for Produce"):
        FaultRules().on("Produce").stale()


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (lambda rules: rules.on("Prodoose"), "did you mean 'Produce'"),
        (
            lambda rules: rules.on("Fetch").error("NOT_LEADER_OR_FOLLOWR"),
            "did you mean 'NOT_LEADER_OR_FOLLOWER'",
        ),
    ],
)
def test_a_misspelt_name_gets_a_suggestion(call: Any, advice: str) -> None:
    with pytest.raises(ValueError, match=advice):
        call(FaultRules())
