"""Laws of streams groups, whatever members do: who has a task, and that all tasks are assigned."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from pyk.reference_broker.coordinator.group.streams.streams_group import StreamsGroupState
from support.streams_groups_of_shard import StreamsGroupsOfShard, listed

PROCESSES = {"a": "p", "b": "q", "c": "q", "d": "r"}
ALL = [0, 1, 2, 3]

member_ids = st.sampled_from("abcd")
events = st.one_of(
    st.tuples(st.sampled_from(("join", "leave", "obey", "obey", "say nothing")), member_ids),
    st.tuples(st.just("restart"), st.just("")),
    st.tuples(st.just("standbys"), st.sampled_from("012")),
)


class Members:
    """Members that come and go, and do as they are told when they get to it."""

    def __init__(self) -> None:
        self.groups = StreamsGroupsOfShard()

    def happen(self, what: str, which: str) -> None:
        groups = self.groups
        if what == "join":
            groups.join(which, process_id=PROCESSES[which])
        elif what == "restart":
            self.groups = groups.restarted()
        elif what == "standbys":
            groups.configure("streams.num.standby.replicas", which)
        elif which not in self.present:
            return
        elif what == "leave":
            groups.beat(which, -1)
        elif what == "obey":
            self.obey(which)
        else:
            groups.beat(which, groups.group.members[which].epoch)

    @property
    def present(self) -> list[str]:
        found = self.groups.shard.streams_groups
        return [member_id for group in found for member_id in group.members]

    def obey(self, member_id: str) -> None:
        """Say that the member has what it was assigned, and nothing else."""
        member = self.groups.group.members[member_id]
        answer = self.groups.beat(
            member_id,
            member.epoch,
            active_tasks=listed(member.assigned.active),
            standby_tasks=listed(member.assigned.standby),
            warmup_tasks=[],
        )
        assert not answer.error_code, answer

    def held_in_a_process(self) -> Counter[object]:
        """Return how often a process has a task in different roles, or has yet to give it up."""
        return Counter(
            (member.process_id, task)
            for member in self.groups.group.members.values()
            for held in (member.assigned, member.revoking)
            for task in (*held.active, *held.standby)
        )

    def active(self) -> Counter[object]:
        return Counter(
            task
            for member in self.groups.group.members.values()
            for held in (member.assigned, member.revoking)
            for task in held.active
        )


@given(happened=st.lists(events, max_size=40))
def test_a_task_is_active_once_and_in_a_process_once(happened: list[tuple[str, str]]) -> None:
    members = Members()
    members.happen("join", "a")

    for event in happened:
        members.happen(*event)

        if members.present:
            assert set(members.active().values()) <= {1}
            assert set(members.held_in_a_process().values()) <= {1}


@given(happened=st.lists(events, max_size=30))
def test_all_tasks_are_active_once_members_have_done_as_they_are_told(
    happened: list[tuple[str, str]],
) -> None:
    members = Members()
    for event in happened:
        members.happen(*event)
    members.happen("join", "a")

    for _ in range(12):
        for member_id in members.present:
            members.obey(member_id)

    assert members.groups.group.state is StreamsGroupState.STABLE
    assert sorted(task.partition for task in members.active().elements()) == ALL  # type: ignore[attr-defined]
    known = members.groups.restarted().group
    assert known.members == members.groups.group.members
