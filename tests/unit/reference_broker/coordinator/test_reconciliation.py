"""The next step of a member towards its target: give up, wait, take over (KIP-848)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any
from uuid import UUID

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.coordinator.group.consumer.member import ConsumerMember, MemberState
from pyk.reference_broker.coordinator.group.consumer.reconciliation import Reconciliation
from pyk.reference_broker.errors import ApiError

A, B = UUID(int=1), UUID(int=2)
STABLE, UNREVOKED, UNRELEASED = (
    MemberState.STABLE,
    MemberState.UNREVOKED_PARTITIONS,
    MemberState.UNRELEASED_PARTITIONS,
)
Numbers = dict[UUID, Iterable[int]]


def member(state: MemberState = STABLE, epoch: int = 5, **partitions: Any) -> ConsumerMember:
    """Return a member that came to its epoch from the one before."""
    return ConsumerMember(
        member_id="m", state=state, epoch=epoch, previous_epoch=epoch - 1, **partitions
    )


def step(
    before: ConsumerMember,
    *,
    owned: Numbers | None,
    target: Numbers,
    target_epoch: int = 7,
    topics: Collection[UUID] = (A, B),
    taken: Collection[tuple[UUID, int]] = (),
    has_new_subscription: bool = False,
) -> ConsumerMember:
    """Take the next step of a member; ``taken`` are the partitions of others."""
    return Reconciliation(
        target_epoch=target_epoch,
        target={topic: frozenset(numbers) for topic, numbers in target.items()},
        topic_ids=topics,
        owned=None
        if owned is None
        else {topic: frozenset(numbers) for topic, numbers in owned.items()},
        is_free=lambda topic, number: (topic, number) not in taken,
        has_new_subscription=has_new_subscription,
    ).step(before)


def standing(after: ConsumerMember) -> tuple[MemberState, int, int]:
    return after.state, after.epoch, after.previous_epoch


def test_a_member_that_has_its_target_stays_as_it_is() -> None:
    before = member(assigned={A: {0: 5}})

    assert step(before, owned={A: [0]}, target={A: [0]}, target_epoch=5) is before


def test_free_partitions_are_taken_over_in_the_epoch_of_the_target() -> None:
    after = step(member(assigned={A: {0: 3}}), owned={A: [0]}, target={A: [0, 1], B: [2]})

    assert standing(after) == (STABLE, 7, 5)
    assert after.assigned == {A: {0: 3, 1: 7}, B: {2: 7}}
    assert after.revoking == {}


def test_a_target_with_nothing_new_changes_only_the_epoch() -> None:
    after = step(member(assigned={A: {0: 3}}), owned=None, target={A: [0]})

    assert standing(after) == (STABLE, 7, 5)
    assert after.assigned == {A: {0: 3}}


def test_a_member_waits_in_the_epoch_of_the_target_for_what_others_have() -> None:
    after = step(
        member(assigned={A: {0: 3}}),
        owned={A: [0]},
        target={A: [0, 1], B: [2]},
        taken=[(A, 1)],
    )

    assert standing(after) == (UNRELEASED, 7, 5)
    assert after.assigned == {A: {0: 3}, B: {2: 7}}


def test_a_member_waits_although_nothing_was_free() -> None:
    after = step(member(), owned={}, target={A: [0]}, taken=[(A, 0)])

    assert standing(after) == (UNRELEASED, 7, 5)
    assert after.assigned == {}


def test_a_member_that_waits_takes_over_what_was_released() -> None:
    after = step(member(UNRELEASED, 7), owned={}, target={A: [0]})

    assert standing(after) == (STABLE, 7, 7)
    assert after.assigned == {A: {0: 7}}


def test_a_member_that_still_waits_makes_its_epoch_the_one_before() -> None:
    after = step(member(UNRELEASED, 7), owned={}, target={A: [0]}, taken=[(A, 0)])

    assert standing(after) == (UNRELEASED, 7, 7)


def test_partitions_are_given_up_in_the_old_epoch_and_nothing_is_taken_over_before() -> None:
    after = step(member(assigned={A: {0: 3, 1: 4}}), owned={A: [0, 1]}, target={A: [1, 2], B: [0]})

    assert standing(after) == (UNREVOKED, 5, 5)
    assert after.assigned == {A: {1: 4}}
    assert after.revoking == {A: {0: 3}}


def test_a_member_that_does_not_say_what_it_has_may_have_everything() -> None:
    after = step(member(assigned={A: {0: 3}}), owned=None, target={A: [1]})

    assert standing(after) == (UNREVOKED, 5, 5)
    assert after.revoking == {A: {0: 3}}


def test_partitions_that_the_member_does_not_have_need_not_be_given_up() -> None:
    after = step(member(assigned={A: {0: 3}}), owned={A: [5], B: [0]}, target={A: [1]})

    assert standing(after) == (STABLE, 7, 5)
    assert after.assigned == {A: {1: 7}}
    assert after.revoking == {}


@pytest.mark.parametrize("owned", [None, {A: [0, 1]}, {A: [0]}])
def test_a_member_waits_until_it_has_given_up_everything(owned: Numbers | None) -> None:
    before = member(UNREVOKED, assigned={B: {0: 3}}, revoking={A: {0: 3, 1: 3}})

    assert step(before, owned=owned, target={B: [0, 1]}) is before


def test_a_member_that_has_given_up_what_it_should_follows_the_latest_target() -> None:
    before = member(UNREVOKED, assigned={B: {0: 3}}, revoking={A: {0: 3}})

    after = step(before, owned={B: [0]}, target={B: [0, 1]})

    assert standing(after) == (STABLE, 7, 5)
    assert after.assigned == {B: {0: 3, 1: 7}}
    assert after.revoking == {}


def test_a_second_revocation_keeps_the_epoch_and_forgets_the_one_before() -> None:
    before = member(UNREVOKED, assigned={B: {0: 3, 1: 3}}, revoking={A: {0: 3}})

    after = step(before, owned={B: [0, 1]}, target={B: [0]})

    assert standing(after) == (UNREVOKED, 5, 5)
    assert after.assigned == {B: {0: 3}}
    assert after.revoking == {B: {1: 3}}


def test_a_partition_that_was_given_up_comes_back_in_a_later_epoch() -> None:
    before = member(UNREVOKED, assigned={}, revoking={A: {0: 3}})

    after = step(before, owned={}, target={A: [0]})

    assert standing(after) == (STABLE, 7, 5)
    assert after.assigned == {A: {0: 7}}


def test_a_target_does_not_count_for_topics_that_are_subscribed_to_no_longer() -> None:
    after = step(
        member(assigned={A: {0: 3}, B: {0: 3}}),
        owned={A: [0], B: [0]},
        target={A: [0, 1], B: [0, 1]},
        topics=[B],
    )

    assert standing(after) == (UNREVOKED, 5, 5)
    assert after.assigned == {B: {0: 3}}
    assert after.revoking == {A: {0: 3}}


# -- a new subscription, before there is a target for it -------------------------------------------


def test_what_is_unsubscribed_is_taken_away_at_once() -> None:
    before = member(assigned={A: {0: 3}, B: {0: 4}})

    after = step(
        before,
        owned={A: [0], B: [0]},
        target={A: [0], B: [0]},
        target_epoch=5,
        topics=[B],
        has_new_subscription=True,
    )

    assert standing(after) == (UNREVOKED, 5, 5)
    assert after.assigned == {B: {0: 4}}
    assert after.revoking == {A: {0: 3}}


def test_what_is_unsubscribed_and_given_up_already_goes_without_waiting() -> None:
    before = member(assigned={A: {0: 3}, B: {0: 4}})

    after = step(
        before,
        owned={B: [0]},
        target={A: [0], B: [0]},
        target_epoch=5,
        topics=[B],
        has_new_subscription=True,
    )

    assert standing(after) == (STABLE, 5, 5)
    assert after.assigned == {B: {0: 4}}
    assert after.revoking == {}


def test_an_old_subscription_takes_nothing_away_from_a_member_with_its_target() -> None:
    before = member(assigned={A: {0: 3}})

    assert step(before, owned={A: [0]}, target={}, target_epoch=5, topics=[]) is before


def test_a_new_subscription_to_what_the_member_has_changes_nothing() -> None:
    before = member(assigned={A: {0: 3}})

    after = step(
        before,
        owned={A: [0]},
        target={A: [0]},
        target_epoch=5,
        topics=[A],
        has_new_subscription=True,
    )

    assert after is before


def test_a_member_that_gives_up_partitions_gives_up_what_it_unsubscribes_from_too() -> None:
    before = member(UNREVOKED, assigned={A: {1: 4}, B: {0: 4}}, revoking={A: {0: 3}, B: {1: 3}})

    after = step(
        before,
        owned={A: [0, 1], B: [0, 1]},
        target={A: [1], B: [0]},
        topics=[B],
        has_new_subscription=True,
    )

    assert standing(after) == (UNREVOKED, 5, 5)
    assert after.assigned == {B: {0: 4}}
    assert after.revoking == {A: {0: 3, 1: 4}, B: {1: 3}}


def test_a_member_that_gives_up_partitions_and_keeps_its_topics_stays_as_it_is() -> None:
    before = member(UNREVOKED, assigned={B: {0: 4}}, revoking={A: {0: 3}})

    after = step(before, owned={A: [0]}, target={B: [0]}, topics=[B], has_new_subscription=True)

    assert after is before


def test_a_member_without_topics_and_partitions_makes_its_epoch_the_one_before() -> None:
    after = step(
        member(), owned={}, target={}, target_epoch=5, topics=[], has_new_subscription=True
    )

    assert standing(after) == (STABLE, 5, 5)


# -- a state of a newer broker ---------------------------------------------------------------------


@pytest.mark.parametrize("owned", [None, {A: [0]}])
def test_a_member_in_an_unknown_state_has_to_give_up_everything(owned: Numbers | None) -> None:
    message = (
        "The consumer group member is in a unknown state. The member must abandon all its "
        "partitions and rejoin."
    )

    with pytest.raises(ApiError, match=message) as raised:
        step(member(MemberState(9), assigned={A: {0: 3}}), owned=owned, target={A: [0]})

    assert raised.value.code is ErrorCode.FENCED_MEMBER_EPOCH


@pytest.mark.parametrize("target_epoch", [5, 7])
def test_a_member_in_an_unknown_state_begins_again_without_partitions(target_epoch: int) -> None:
    before = member(MemberState(9), assigned={A: {0: 3}}, revoking={A: {1: 3}})

    after = step(before, owned={}, target={A: [0, 1]}, target_epoch=target_epoch)

    assert standing(after) == (STABLE, target_epoch, 5)
    assert after.assigned == {A: {0: 3, 1: target_epoch}}
