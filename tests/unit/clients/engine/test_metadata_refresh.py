"""When metadata is requested again."""

from __future__ import annotations

import pytest

from pyk.clients.engine.backoff import Backoff
from pyk.clients.engine.metadata_refresh import MetadataRefresh

NO_CHANCE = 0.5  # neither longer nor shorter


def fresh() -> MetadataRefresh:
    """Return a refresh that was answered at time 0 with news."""
    refresh = MetadataRefresh(max_age=300.0, backoff=Backoff(0.1, 1.0))
    refresh.asked(0.0)
    refresh.answered(0.0, NO_CHANCE, has_news=True)
    return refresh


def test_the_first_question_is_due_at_once() -> None:
    assert MetadataRefresh(max_age=300.0, backoff=Backoff(0.1, 1.0)).due_in(0.0) == 0.0


def test_metadata_are_asked_for_again_when_they_are_old() -> None:
    refresh = fresh()

    assert refresh.due_in(10.0) == 290.0
    assert refresh.due_in(301.0) == 0.0


def test_a_request_is_due_after_the_retry_backoff() -> None:
    refresh = fresh()
    refresh.request()

    assert refresh.due_in(0.0) == pytest.approx(0.1)
    assert refresh.due_in(0.2) == 0.0


def test_a_topic_that_is_needed_is_asked_for_at_once() -> None:
    refresh = fresh()
    refresh.request_at_once()

    assert refresh.due_in(0.0) == 0.0


def test_only_missing_topics_are_asked_for_while_nothing_else_seems_wrong() -> None:
    refresh = fresh()

    refresh.request_at_once()
    assert not refresh.asked(1.0)
    refresh.answered(1.0, NO_CHANCE, has_news=True)
    refresh.request_missing()
    assert not refresh.asked(2.0)
    refresh.request_missing()
    refresh.request()
    assert refresh.asked(3.0)


def test_all_topics_are_asked_for_when_their_metadata_are_old_however_many_new_ones_came() -> None:
    refresh = fresh()
    for second in range(299):
        refresh.request_at_once()
        assert not refresh.asked(second)
        refresh.answered(second, NO_CHANCE, has_news=True)

    assert refresh.due_in(299.0) == 1.0
    refresh.request_at_once()
    assert refresh.asked(300.0)


def test_all_topics_are_asked_for_after_a_failure() -> None:
    refresh = fresh()
    refresh.request_at_once()
    refresh.asked(1.0)

    refresh.failed(1.0, NO_CHANCE)

    assert refresh.asked(2.0)


def test_answers_without_news_slow_the_questions_down() -> None:
    refresh = fresh()
    waits = []
    for _ in range(6):
        refresh.request()
        refresh.asked(0.0)
        refresh.answered(0.0, NO_CHANCE, has_news=False)
        refresh.request()
        waits.append(refresh.due_in(0.0))

    assert waits == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.0, 1.0])


def test_news_make_the_questions_quick_again() -> None:
    refresh = fresh()
    for _ in range(6):
        refresh.answered(0.0, NO_CHANCE, has_news=False)
    refresh.answered(0.0, NO_CHANCE, has_news=True)
    refresh.request()

    assert refresh.due_in(0.0) == pytest.approx(0.1)


def test_failures_back_off_even_urgent_requests() -> None:
    refresh = fresh()
    waits = []
    for _ in range(6):
        refresh.asked(0.0)
        refresh.failed(0.0, NO_CHANCE)
        refresh.request_at_once()
        waits.append(refresh.due_in(0.0))

    assert waits == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.0, 1.0])


def test_the_first_failure_of_a_row_is_remembered() -> None:
    refresh = fresh()
    refresh.failed(5.0, NO_CHANCE)
    refresh.failed(9.0, NO_CHANCE)
    assert refresh.failing_since == 5.0

    refresh.answered(10.0, NO_CHANCE, has_news=True)
    assert refresh.failing_since is None


def test_a_request_while_metadata_is_in_flight_is_for_the_next_one() -> None:
    refresh = fresh()
    refresh.request()
    refresh.asked(0.0)
    refresh.request()
    refresh.answered(1.0, NO_CHANCE, has_news=True)

    assert refresh.due_in(1.0) == pytest.approx(0.1)
