"""Take a streams group, and the member that sent a heartbeat, one step further. Pure.

A heartbeat goes through these steps, each of which may write records.

1. The member is added, or its description changes.
2. The first member brings the topology.
3. The topology is held against the topics of the cluster, if these have changed.
4. If any of that is new, or the settings of the group are, an epoch begins.
5. If the group is ahead of its target assignment, that is made for its epoch.
6. The member comes closer to its target (:mod:`.reconciliation`).
"""

from __future__ import annotations

import logging

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import streams_group_heartbeat as wire
from pyk.reference_broker.coordinator.group.consumer.topics import Topics
from pyk.reference_broker.coordinator.group.group_draft import GroupDraft
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted
from pyk.runtime.timers import Moment

from .configured_topology import ConfiguredTopology, configure
from .group_config import StreamsGroupConfig
from .heartbeat import StreamsHeartbeat
from .member import StreamsMember
from .reconciliation import Reconciliation
from .records import (
    current_record,
    epoch_record,
    member_record,
    target_epoch_record,
    target_record,
    topology_record,
)
from .statuses import ASSIGNMENT_INTERVAL, INITIAL_DELAY, delayed, stale_topology
from .sticky_assignor import TaskMember, assign_sticky
from .streams_group import StreamsGroup
from .tasks import Tasks
from .topology import topology_of, topology_record_value

log = logging.getLogger(__name__)

Draft = GroupDraft[StreamsGroup]
NOT_VALIDATED = -1


@slotted.frozen(kw_only=True)
class Step:
    """What a heartbeat has come to."""

    member: StreamsMember
    topology: ConfiguredTopology
    statuses: list[wire.Status]


class Progress:
    """The steps of one heartbeat, with the topics as they are now."""

    def __init__(self, topics: Topics, config: StreamsGroupConfig) -> None:
        self._topics = topics
        self._config = config

    def advance(
        self,
        known: StreamsGroup,
        draft: Draft,
        before: StreamsMember,
        beat: StreamsHeartbeat,
        *,
        awaits_others: bool,
    ) -> Step:
        """Take all steps; with ``awaits_others`` the first assignment is not made yet.

        ``known`` is the group without the changes of this heartbeat.
        """
        statuses: list[wire.Status] = []
        has_new_member = self._describe(draft, before, beat)
        self._bring_topology(draft, beat.request.topology)
        described = draft.group.members[before.member_id]
        if known.topology is not None and described.topology_epoch < known.topology.epoch:
            statuses.append(stale_topology(described.topology_epoch, known.topology.epoch))
        topology, metadata_hash = self._configure(known, draft)
        owned = beat.owned
        if topology.is_ready and owned is not None:
            for tasks in (owned.active, owned.standby, owned.warmup):
                topology.check_tasks(tasks)
        self._begin_epoch(known, draft, topology, metadata_hash, is_due=has_new_member)
        target = self._target_of(
            draft, before.member_id, topology, beat.moment, statuses, awaits_others=awaits_others
        )
        after = Reconciliation(
            target_epoch=draft.group.assignment_epoch,
            target=target,
            owned=owned,
            owners=known.owners,
        ).step(described)
        if after != described:
            draft.add(current_record(known.group_id, after))
        return Step(member=after, topology=topology, statuses=statuses)

    # -- 1. to 4.: the member, the topology, the topics ------------------------------------------

    def _describe(self, draft: Draft, before: StreamsMember, beat: StreamsHeartbeat) -> bool:
        after = beat.describe(before)
        if after == draft.group.members.get(after.member_id):
            return False
        draft.add(member_record(draft.group.group_id, after))
        return True

    def _bring_topology(self, draft: Draft, topology: wire.Topology | None) -> None:
        group = draft.group
        if topology is None:
            return
        value = topology_record_value(topology)
        if group.topology is None:
            draft.add(topology_record(group.group_id, value))
        elif topology.epoch >= group.topology.epoch and topology_of(value) != group.topology:
            raise ApiError(ErrorCode.INVALID_REQUEST, "Topology updates are not supported yet.")

    def _configure(self, known: StreamsGroup, draft: Draft) -> tuple[ConfiguredTopology, int]:
        """Return the topology with the topics as they are, and their hash."""
        topology = draft.group.topology
        if topology is None:
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)  # the log has lost it
        is_current = known.metadata_version == self._topics.version
        if known.configured is not None and known.topology is not None and is_current:
            return known.configured, known.metadata_hash
        names = topology.topic_names
        metadata_hash = self._topics.hash_of(names)
        if metadata_hash == known.metadata_hash:
            known.metadata_version = self._topics.version
        is_configured = known.configured is not None and known.topology is not None
        if not is_configured or metadata_hash != known.configured_hash:
            known.configured = configure(topology, self._topics.counts_of(names))
            known.configured_hash = metadata_hash
        assert known.configured is not None
        return known.configured, metadata_hash

    def _begin_epoch(
        self,
        known: StreamsGroup,
        draft: Draft,
        topology: ConfiguredTopology,
        metadata_hash: int,
        *,
        is_due: bool,
    ) -> None:
        validated_epoch = topology.epoch if topology.is_ready else NOT_VALIDATED
        configs = self._config.of_assignment
        if (
            is_due
            or metadata_hash != known.metadata_hash
            or validated_epoch != known.validated_topology_epoch
            or configs != known.assignment_configs
        ):
            draft.add(
                epoch_record(
                    known.group_id, known.epoch + 1, metadata_hash, validated_epoch, configs
                )
            )

    # -- 5. the target assignment ----------------------------------------------------------------

    def _target_of(
        self,
        draft: Draft,
        member_id: str,
        topology: ConfiguredTopology,
        moment: Moment,
        statuses: list[wire.Status],
        *,
        awaits_others: bool,
    ) -> Tasks:
        if awaits_others:
            statuses.append(delayed(INITIAL_DELAY))
            return Tasks()
        group = draft.group
        if group.epoch > group.assignment_epoch:
            if self.is_assignment_due(group, moment):
                self.assign(draft, topology, moment)
            else:
                statuses.append(delayed(ASSIGNMENT_INTERVAL))
        return draft.group.targets.get(member_id, Tasks())

    def is_assignment_due(self, group: StreamsGroup, moment: Moment) -> bool:
        """Return whether the last assignment was long enough ago."""
        return moment.time_ms >= group.assigned_ms + self._config.assignment_interval_ms

    def assign(self, draft: Draft, topology: ConfiguredTopology, moment: Moment) -> None:
        """Make the target assignment for the group's epoch: empty until the topics are there."""
        group = draft.group
        targets = dict.fromkeys(group.members, Tasks())
        if topology.is_ready:
            members = {
                member_id: TaskMember(
                    process_id=member.process_id, current=group.targets.get(member_id, Tasks())
                )
                for member_id, member in group.members.items()
            }
            targets = assign_sticky(members, topology, self._config.num_standby_replicas)
        for member_id, target in targets.items():
            if group.targets.get(member_id) != target:
                draft.add(target_record(group.group_id, member_id, target))
        draft.add(target_epoch_record(group.group_id, group.epoch, moment.time_ms))
        log.debug("Assigned epoch %d of streams group %r", group.epoch, group.group_id)
