from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.fault_document import FaultDocumentError, line_of, set_faults
from pyk.reference_broker.faults import FaultRules


def test_a_document_sets_rules_and_the_release() -> None:
    rules = FaultRules()

    set_faults(
        rules,
        {
            "pretend": "3.9",
            "fault": [
                {"api": "Produce", "topic": "orders", "after": 2, "times": 3}
                | {"error": "NOT_LEADER_OR_FOLLOWER"},
                {"api": "Fetch", "node": 0, "delay": 300, "truncate": 7},
                {"api": "Heartbeat", "once": True, "truncate": True, "duplicate": True},
                {"api": "Metadata", "probability": 0.5, "stale": True},
            ],
        },
    )

    produce, fetch, heartbeat, metadata = rules.rules
    assert rules.release == "3.9"
    assert produce.requests.api_key is ApiKey.PRODUCE
    assert (produce.requests.topic, produce.occurrences.to_skip) == ("orders", 2)
    assert produce.occurrences.remaining == 3
    assert produce.effect.error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (fetch.effect.delay_ms, fetch.effect.truncate_to) == (300, 7)
    assert fetch.requests.facts == {"node": 0}
    assert heartbeat.occurrences.remaining == 1
    assert (heartbeat.effect.truncate_to, heartbeat.effect.is_duplicated) == (10, True)
    assert (metadata.occurrences.probability, metadata.effect.stale is None) == (0.5, False)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "the file must have names"),
        ({"faults": []}, "there is no 'faults' (did you mean 'fault'?), only fault, pretend"),
        ({"fault": {}}, "'fault' must be a list: write [[fault]]"),
        ({"fault": [1]}, "fault 1: it must be a table, not 1"),
        ({"fault": [{"delay": 1}]}, "fault 1: it needs the name of an API"),
        (
            {"fault": [{"api": "Prodoose", "delay": 1}]},
            "fault 1: no API 'Prodoose' (did you mean 'Produce'?)",
        ),
        ({"fault": [{"api": "Fetch"}]}, "fault 1: it does nothing"),
        (
            {"fault": [{"api": "Fetch", "delya": 1}]},
            "fault 1: there is no 'delya' (did you mean 'delay'?), only api, partition",
        ),
        ({"fault": [{"api": "Fetch", "probability": 2}]}, "probability must be above 0 and at"),
        (
            {"fault": [{"api": "Fetch", "stale": True}]},
            "stale() is for requests that tell metadata",
        ),
        ({"fault": [{"api": "Fetch", "delay": "1"}]}, "fault 1: delay must be a number, not '1'"),
        ({"fault": [{"api": "Fetch", "delay": True}]}, "delay must be a number, not True"),
        ({"fault": [{"api": "Fetch", "close": 1}]}, "fault 1: close must be true, not 1"),
        ({"fault": [{"api": "Fetch", "truncate": "x"}]}, "truncate must be a number or true"),
        ({"fault": [{"api": "Fetch", "error": "NO"}]}, "fault 1: no error 'NO'"),
        ({"fault": [{"api": "Fetch", "node": "0", "delay": 1}]}, "node must be a number, not '0'"),
        ({"fault": [{"api": "Fetch", "node": 7, "delay": 1}]}, "fault 1: no node 7; nodes: 0"),
        ({"fault": [{"api": "Fetch", "version": 99, "delay": 1}]}, "Fetch has no version 99"),
        ({"fault": [{"api": "Fetch", "topic": 1, "delay": 1}]}, "topic must be a text, not 1"),
        ({"pretend": "1.0"}, "pretend: no release '1.0'"),
        ({}, "the file is empty: it needs [[fault]] tables"),
    ],
)
def test_what_a_document_gets_wrong_is_told_and_nothing_is_set(document: Any, message: str) -> None:
    rules = FaultRules()

    with pytest.raises(FaultDocumentError, match=re.escape(message)):
        set_faults(rules, document)

    assert not rules.has_any


def test_one_wrong_fault_leaves_out_those_before_it() -> None:
    rules = FaultRules()

    with pytest.raises(FaultDocumentError, match="fault 2"):
        set_faults(rules, {"fault": [{"api": "Fetch", "delay": 1}, {"api": "Fetch"}]})

    assert not rules.has_any


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (1, 'pretend = "1.0"'),
        (3, '\n[[fault]]\napi = "Prodoose"\ndelay = 1'),
        (6, '[[fault]]\napi = "Fetch"\nclose = true\n[[fault]]\napi = "Fetch"\ndelya = 1'),
        (2, '# two\n[[fault]]\napi = "Fetch"'),
        (2, "# one bracket\n[fault]"),
    ],
)
def test_an_error_has_the_line_that_it_is_about(line: int, text: str) -> None:
    with pytest.raises(FaultDocumentError) as refused:
        set_faults(FaultRules(), tomllib.loads(text))

    assert line_of(refused.value, text) == line


def test_a_fault_that_the_text_does_not_show_has_no_line() -> None:
    text = 'fault = [{ api = "Prodoose", delay = 1 }]'

    with pytest.raises(FaultDocumentError) as refused:
        set_faults(FaultRules(), tomllib.loads(text))

    assert line_of(refused.value, text) is None
