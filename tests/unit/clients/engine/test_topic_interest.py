"""Metadata of topics is requested as long as they are in use."""

from __future__ import annotations

from pyk.clients.engine.topic_interest import TopicInterest


def test_the_topics_of_a_user_replace_its_former_ones() -> None:
    interest = TopicInterest()

    interest.use("subscription", ["a", "b"])
    interest.use("records", ["b", "c"])
    interest.use("subscription", ["d"])

    assert interest.topics == {"b", "c", "d"}
    assert interest.needs("c")
    assert not interest.needs("a")


def test_a_user_may_need_more() -> None:
    interest = TopicInterest()

    interest.also_use("records", ["a"])
    interest.also_use("records", ["b"])

    assert interest.topics == {"a", "b"}


def test_a_topic_is_needed_until_the_last_call_that_waits_for_it_ends() -> None:
    interest = TopicInterest()

    interest.begin_wait(["a", "b"])
    interest.begin_wait(["a"])
    interest.end_wait(["a", "b"])

    assert interest.topics == {"a"}
    assert interest.is_awaited("a")
    interest.end_wait(["a"])
    assert interest.topics == frozenset()
    assert not interest.is_awaited("a")
