"""Bring a member one step closer to its target tasks: give up, wait, take over. Pure.

An active task has one owner at a time, and a process has a task in one role only. So a member first
gives up what it should not have, and reports that by a heartbeat without it. Only then it gets the
epoch of the target, with the tasks that are free. It waits in that epoch for the rest.

Each step makes the present epoch the one before, even a step that stays in it, and a member that
has given up tasks and must give up more is one epoch further, as in Kafka.
"""

from __future__ import annotations

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted

from .member import MemberState, StreamsMember
from .task_owners import TaskOwners
from .tasks import HeldTasks, TaskId, Tasks


@slotted.frozen(kw_only=True)
class Reconciliation:
    """All that decides on the next step of a member."""

    target_epoch: int
    target: Tasks
    owned: Tasks | None
    """What the member has reported to have, None if it has not reported."""
    owners: TaskOwners
    """The processes of all tasks, as they were before this step."""

    def step(self, member: StreamsMember) -> StreamsMember:
        """Return the member after its next step, the same one if it has to wait."""
        if member.is_at(self.target_epoch):
            return member
        if member.state is MemberState.UNKNOWN:
            self._check_abandoned()
            return self._towards_target(member, self.target_epoch)
        if member.state is not MemberState.UNREVOKED_TASKS:
            return self._towards_target(member, member.epoch)
        if self.owned is None or self.owned.has_any_of(member.revoking):
            return member
        return self._towards_target(member, member.epoch + 1)

    def _check_abandoned(self) -> None:
        """Raise unless the member begins again without tasks: nobody knows which it has."""
        if self.owned != Tasks():
            raise ApiError(
                ErrorCode.FENCED_MEMBER_EPOCH,
                "The streams group member is in a unknown state. The member must abandon all its "
                "tasks and rejoin.",
            )

    def _towards_target(self, member: StreamsMember, epoch: int) -> StreamsMember:
        kept, revoking = self._split(member.assigned)
        if revoking and (self.owned is None or self.owned.has_any_of(revoking)):
            return slotted.evolve(
                member,
                state=MemberState.UNREVOKED_TASKS,
                epoch=epoch,
                previous_epoch=member.epoch,
                assigned=kept,
                revoking=revoking,
            )
        assigned = self._taken_over(kept, member.process_id)
        return slotted.evolve(
            member,
            state=self._state_with(assigned),
            epoch=self.target_epoch,
            previous_epoch=member.epoch,
            assigned=assigned,
            revoking=HeldTasks(),
        )

    def _split(self, held: HeldTasks) -> tuple[HeldTasks, HeldTasks]:
        """Return the tasks that stay, and those to give up."""
        target = self.target
        kept: dict[TaskId, int] = {}
        revoking: dict[TaskId, int] = {}
        for task, epoch in held.active.items():
            (kept if task in target.active else revoking)[task] = epoch
        return (
            HeldTasks(
                active=kept,
                standby=held.standby & target.standby,
                warmup=held.warmup & target.warmup,
            ),
            HeldTasks(
                active=revoking,
                standby=held.standby - target.standby,
                warmup=held.warmup - target.warmup,
            ),
        )

    def _taken_over(self, kept: HeldTasks, process_id: str) -> HeldTasks:
        """Return the tasks that stay with those of the target that are free."""
        target, owners = self.target, self.owners
        gained = {
            task: self.target_epoch
            for task in target.active - kept.active.keys()
            if owners.can_be_active(task, process_id)
        }
        standby, warmup = (
            held | {task for task in wanted - held if owners.can_be_replica(task, process_id)}
            for held, wanted in ((kept.standby, target.standby), (kept.warmup, target.warmup))
        )
        return HeldTasks(active={**kept.active, **gained}, standby=standby, warmup=warmup)

    def _state_with(self, assigned: HeldTasks) -> MemberState:
        target = self.target
        is_complete = (
            len(assigned.active) == len(target.active)
            and assigned.standby == target.standby
            and assigned.warmup == target.warmup
        )
        return MemberState.STABLE if is_complete else MemberState.UNRELEASED_TASKS
