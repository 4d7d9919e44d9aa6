"""When clients may ask what to push, and push."""

from __future__ import annotations

from uuid import UUID

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.client_metrics.client_instances import ClientInstance, ClientInstances
from pyk.reference_broker.client_metrics.subscription import Request
from pyk.reference_broker.errors import ApiError

REQUEST = Request(metrics=("a.",), interval_ms=1_000)
ID = UUID(int=7)


@pytest.fixture
def instance() -> ClientInstance:
    return ClientInstance(request=REQUEST, subscription_id=5, generation=0)


def pushes(instance: ClientInstance, now: float, *, last: bool = False, of: int = 5) -> ErrorCode:
    try:
        instance.check_push(of, now, is_terminating=last)
    except ApiError as error:
        return error.code
    return ErrorCode.NONE


def gets(instance: ClientInstance, now: float) -> ErrorCode:
    try:
        instance.check_get(now)
    except ApiError as error:
        return error.code
    return ErrorCode.NONE


def test_a_push_may_come_at_once_after_a_get_and_then_once_an_interval(
    instance: ClientInstance,
) -> None:
    answers = [gets(instance, 0), *(pushes(instance, now) for now in (10, 1_009, 1_010, 1_020))]

    throttled = ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert answers == [ErrorCode.NONE, ErrorCode.NONE, throttled, ErrorCode.NONE, throttled]


def test_the_last_push_may_come_at_any_time(instance: ClientInstance) -> None:
    assert pushes(instance, 0) == ErrorCode.NONE
    assert pushes(instance, 1, last=True) == ErrorCode.NONE
    assert pushes(instance, 5_000) == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("last_error", "answer"),
    [
        (ErrorCode.NONE, ErrorCode.THROTTLING_QUOTA_EXCEEDED),
        (ErrorCode.INVALID_RECORD, ErrorCode.THROTTLING_QUOTA_EXCEEDED),
        (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.NONE),
        (ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, ErrorCode.NONE),
    ],
)
def test_a_client_may_ask_again_early_after_errors_that_tell_it_to(
    instance: ClientInstance, last_error: ErrorCode, answer: ErrorCode
) -> None:
    gets(instance, 0)
    instance.last_error = last_error

    assert gets(instance, 1) == answer


def test_an_old_subscription_id_is_refused(instance: ClientInstance) -> None:
    assert pushes(instance, 0, of=4) == ErrorCode.UNKNOWN_SUBSCRIPTION_ID


@pytest.mark.parametrize(
    ("generation", "now", "is_known"),
    [(0, 59_999, True), (0, 60_000, False), (1, 1, False)],
    ids=["soon", "after a minute", "other subscriptions"],
)
def test_a_client_is_known_until_it_is_silent_or_its_subscriptions_change(
    generation: int, now: float, is_known: bool
) -> None:
    instances = ClientInstances()
    first = instances.seen(ID, 0, lambda: REQUEST, 0)

    again = instances.seen(ID, generation, lambda: REQUEST, now)

    assert (again is first) == is_known


def test_only_so_many_clients_are_known_the_latest_ones() -> None:
    instances = ClientInstances(max_instances=2)

    for number in (1, 2, 1, 3):
        instances.seen(UUID(int=number), 0, lambda: REQUEST, 0)

    assert [UUID(int=number) in instances for number in (1, 2, 3)] == [True, False, True]


def test_a_client_may_ask_again_when_exactly_an_interval_is_over(instance: ClientInstance) -> None:
    answers = [gets(instance, now) for now in (0, 999, 1_000)]

    assert answers == [ErrorCode.NONE, ErrorCode.THROTTLING_QUOTA_EXCEEDED, ErrorCode.NONE]
