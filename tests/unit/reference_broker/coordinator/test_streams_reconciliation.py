"""The steps of a member of a streams group towards its target tasks."""

from __future__ import annotations

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.coordinator.group.streams.member import MemberState, StreamsMember
from pyk.reference_broker.coordinator.group.streams.reconciliation import Reconciliation
from pyk.reference_broker.coordinator.group.streams.task_owners import TaskOwners
from pyk.reference_broker.coordinator.group.streams.tasks import HeldTasks, TaskId, TaskIds, Tasks
from pyk.reference_broker.errors import ApiError

STABLE, UNREVOKED = MemberState.STABLE, MemberState.UNREVOKED_TASKS
UNRELEASED, UNKNOWN = MemberState.UNRELEASED_TASKS, MemberState.UNKNOWN
NOTHING = Tasks()


def tasks(*partitions: int) -> TaskIds:
    return frozenset(TaskId("0", partition) for partition in partitions)


def active(**epochs: int) -> HeldTasks:
    """Return active tasks with their epochs: ``_1=5`` is partition 1, given at epoch 5."""
    return HeldTasks(active={TaskId("0", int(name[1:])): each for name, each in epochs.items()})


def member(epoch: int = 5, **more: object) -> StreamsMember:
    values = {"previous_epoch": epoch - 1, "process_id": "p", **more}
    return StreamsMember(member_id="a", epoch=epoch, **values)  # type: ignore[arg-type]


def step(
    before: StreamsMember,
    target: Tasks,
    *,
    epoch: int = 6,
    owned: Tasks | None = None,
    others: TaskOwners | None = None,
) -> StreamsMember:
    return Reconciliation(
        target_epoch=epoch, target=target, owned=owned, owners=others or TaskOwners()
    ).step(before)


def test_a_member_that_is_there_stays_as_it_is() -> None:
    before = member(assigned=active(_0=3))

    assert step(before, Tasks(active=tasks(0, 1)), epoch=5) is before


def test_free_tasks_are_taken_at_once_with_the_epoch_of_the_target() -> None:
    after = step(member(assigned=active(_0=3)), Tasks(active=tasks(0, 1), standby=tasks(2)))

    assert (after.epoch, after.previous_epoch, after.state) == (6, 5, STABLE)
    assert after.assigned == HeldTasks(
        active={TaskId("0", 0): 3, TaskId("0", 1): 6}, standby=tasks(2)
    )


def test_a_member_gives_up_first_and_keeps_its_epoch_meanwhile() -> None:
    before = member(assigned=active(_0=3, _1=4))

    after = step(before, Tasks(active=tasks(0, 2)))

    assert (after.epoch, after.previous_epoch, after.state) == (5, 5, UNREVOKED)
    assert after.assigned == active(_0=3)
    assert after.revoking == active(_1=4)


@pytest.mark.parametrize("owned", [None, Tasks(active=tasks(1))], ids=["unsaid", "still had"])
def test_a_member_waits_until_it_says_that_it_has_given_up(owned: Tasks | None) -> None:
    before = member(state=UNREVOKED, assigned=active(_0=3), revoking=active(_1=4))

    assert step(before, Tasks(active=tasks(0, 2)), owned=owned) is before


def test_a_member_that_has_given_up_gets_the_target() -> None:
    before = member(state=UNREVOKED, assigned=active(_0=3), revoking=active(_1=4))

    after = step(before, Tasks(active=tasks(0, 2)), owned=Tasks(active=tasks(0)))

    assert (after.epoch, after.previous_epoch, after.state) == (6, 5, STABLE)
    assert after.assigned == active(_0=3, _2=6)
    assert not after.revoking


def test_a_member_that_must_give_up_even_more_is_one_epoch_further() -> None:
    before = member(state=UNREVOKED, assigned=active(_0=3), revoking=active(_1=4))

    after = step(before, NOTHING, epoch=9, owned=Tasks(active=tasks(0)))

    assert (after.epoch, after.previous_epoch, after.state) == (6, 5, UNREVOKED)
    assert after.revoking == active(_0=3)


def test_what_a_member_no_longer_has_needs_no_giving_up() -> None:
    after = step(member(assigned=active(_0=3)), Tasks(active=tasks(1)), owned=NOTHING)

    assert (after.epoch, after.state, after.assigned) == (6, STABLE, active(_1=6))


def test_a_member_waits_for_active_tasks_that_others_have() -> None:
    others = TaskOwners()
    others.add(active(_1=2), "q")

    after = step(member(), Tasks(active=tasks(0, 1)), others=others)

    assert (after.epoch, after.state, after.assigned) == (6, UNRELEASED, active(_0=6))
    others.remove(active(_1=2), "q")
    done = step(after, Tasks(active=tasks(0, 1)), others=others)
    assert (done.epoch, done.previous_epoch, done.state) == (6, 6, STABLE)
    assert done.assigned == active(_0=6, _1=6)


def test_a_process_has_a_task_in_one_role_only() -> None:
    others = TaskOwners()
    others.add(HeldTasks(active={TaskId("0", 0): 2}, standby=tasks(1), warmup=tasks(2)), "p")
    target = Tasks(active=tasks(1, 2, 3), standby=tasks(0, 4), warmup=tasks(1, 5))

    after = step(member(), target, others=others)

    assert after.state is UNRELEASED
    assert after.assigned == HeldTasks(
        active={TaskId("0", 3): 6}, standby=tasks(4), warmup=tasks(5)
    )


def test_another_process_may_have_a_standby_of_an_active_task() -> None:
    others = TaskOwners()
    others.add(active(_0=2), "q")

    after = step(member(), Tasks(standby=tasks(0)), others=others)

    assert (after.state, after.assigned.standby) == (STABLE, tasks(0))


def test_standby_tasks_are_given_up_as_well() -> None:
    before = member(assigned=HeldTasks(standby=tasks(0), warmup=tasks(1)))

    after = step(before, NOTHING)

    assert (after.state, after.revoking) == (
        UNREVOKED,
        HeldTasks(standby=tasks(0), warmup=tasks(1)),
    )
    assert step(after, NOTHING, owned=Tasks(warmup=tasks(1))) is after
    assert step(after, NOTHING, owned=Tasks(active=tasks(0, 1))).state is STABLE


@pytest.mark.parametrize("owned", [None, Tasks(active=tasks(0))], ids=["unsaid", "had"])
def test_a_member_in_an_unknown_state_must_join_again(owned: Tasks | None) -> None:
    with pytest.raises(ApiError, match="unknown state") as caught:
        step(member(state=MemberState(7)), NOTHING, owned=owned)

    assert caught.value.code is ErrorCode.FENCED_MEMBER_EPOCH


def test_a_member_in_an_unknown_state_begins_again_without_tasks() -> None:
    after = step(member(state=UNKNOWN), Tasks(active=tasks(0)), owned=NOTHING)

    assert (after.epoch, after.state, after.assigned) == (6, STABLE, active(_0=6))


# -- who has what --------------------------------------------------------------------------------


def test_a_standby_of_two_processes_stays_with_the_one_that_is_left() -> None:
    owners = TaskOwners()
    for process_id in "pq":
        owners.add(HeldTasks(standby=tasks(0)), process_id)

    owners.remove(HeldTasks(standby=tasks(0)), "p")

    assert owners.can_be_active(TaskId("0", 0), "p")
    assert not owners.can_be_active(TaskId("0", 0), "q")


def test_who_takes_over_an_active_task_keeps_it_when_the_other_lets_it_go() -> None:
    owners = TaskOwners()
    owners.add(active(_0=2), "p")
    owners.add(active(_0=3), "q")

    owners.remove(active(_0=2), "p")

    assert owners.active == {TaskId("0", 0): "q"}
