"""The state of share groups in one partition of ``__share_group_state``, as an event-sourced shard.

Partition leaders read the state of a share partition before they serve it, and write what members
have acknowledged; group coordinators initialize and delete it. Two epochs fence those that are
late: the leader epoch of the partition, and the state epoch, which is the group epoch in which the
state was initialized.

A write appends an update, or a snapshot after so many of them. Everything that a snapshot has made
obsolete is removed from the front of the log now and then. So that a share partition at rest does
not hold that up, it gets a new snapshot, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)
from pyk.reference_broker.controller.image import TopicImage
from pyk.reference_broker.coordinator.decision import NOTHING, Decision
from pyk.reference_broker.coordinator.shard_timers import ShardTimers
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted
from pyk.runtime.timers import Moment

from .kept_states import KeptStates
from .records import ShareStateRecord, batches_of
from .share_partition import (
    NOT_INITIALIZED,
    UNKNOWN_COUNT,
    SharePartitionKey,
    ShareState,
    ShareUpdate,
)
from .state_batches import UNCHANGED, combine


@slotted.frozen(kw_only=True)
class ShareStateConfig:
    """The broker configurations that concern the state of share groups."""

    updates_per_snapshot: int = 500
    cold_interval_ms: int = 300_000
    prune_interval_ms: int = 300_000


class ShareStateShard:
    """Share partitions by key; pure except for the timers it is given.

    A request method raises ``ApiError`` with the error and the message of that partition.
    """

    def __init__(
        self,
        config: ShareStateConfig,
        timers: ShardTimers,
        topics_by_id: Mapping[UUID, TopicImage],
    ) -> None:
        self.states = KeptStates(config.updates_per_snapshot)
        self._config = config
        self._timers = timers
        self._topics_by_id = topics_by_id

    # -- requests --------------------------------------------------------------------------------

    def read(
        self, key: SharePartitionKey, asked: read_share_group_state.PartitionData, moment: Moment
    ) -> tuple[read_share_group_state.PartitionResult, Decision]:
        """Return the state; writes of leaders before the one that asks are refused from now on."""
        _check_number(key)
        state = self._initialized(key, "Read")
        self._check_leader(key, asked.leader_epoch)
        self._check_topic(key)
        result = read_share_group_state.PartitionResult(
            partition=key.partition,
            state_epoch=state.state_epoch,
            start_offset=state.start_offset,
            state_batches=[
                read_share_group_state.StateBatch(
                    first_offset=each.first_offset,
                    last_offset=each.last_offset,
                    delivery_state=each.delivery_state,
                    delivery_count=each.delivery_count,
                )
                for each in state.batches
            ],
        )
        if asked.leader_epoch in (UNCHANGED, self.states.leader_epoch(key)):
            return result, NOTHING
        update = ShareUpdate(
            snapshot_epoch=state.snapshot_epoch,
            leader_epoch=asked.leader_epoch,
            start_offset=state.start_offset,
            delivery_complete_count=state.delivery_complete_count,
        )
        return result, self._append(key, state, update, moment)

    def write(
        self, key: SharePartitionKey, asked: write_share_group_state.PartitionData, moment: Moment
    ) -> tuple[write_share_group_state.PartitionResult, Decision]:
        """Keep what has changed."""
        _check_number(key)
        state = self._initialized(key, "Write")
        self._check_leader(key, asked.leader_epoch)
        self._check_state_epoch(key, asked.state_epoch)
        self._check_topic(key)
        update = ShareUpdate(
            snapshot_epoch=state.snapshot_epoch,
            leader_epoch=state.leader_epoch,
            start_offset=asked.start_offset,
            delivery_complete_count=asked.delivery_complete_count,
            batches=combine((), batches_of(asked.state_batches), asked.start_offset),
        )
        result = write_share_group_state.PartitionResult(partition=key.partition)
        return result, self._append(key, state, update, moment)

    def initialize(
        self,
        key: SharePartitionKey,
        asked: initialize_share_group_state.PartitionData,
        moment: Moment,
    ) -> tuple[initialize_share_group_state.PartitionResult, Decision]:
        """Begin the state, or begin it again: what was known counts no more."""
        _check_number(key)
        self._check_state_epoch(key, asked.state_epoch)
        self._check_topic(key)
        known = self.states.get(key)
        state = ShareState(
            snapshot_epoch=0 if known is None else known.snapshot_epoch + 1,
            state_epoch=asked.state_epoch,
            leader_epoch=0,
            start_offset=asked.start_offset,
            delivery_complete_count=(UNKNOWN_COUNT if asked.start_offset == NOT_INITIALIZED else 0),
            created_ms=moment.time_ms,
            written_ms=moment.time_ms,
        )
        result = initialize_share_group_state.PartitionResult(partition=key.partition)
        return result, Decision((ShareStateRecord(key, state),))

    def delete(
        self, key: SharePartitionKey, asked: delete_share_group_state.PartitionData, moment: Moment
    ) -> tuple[delete_share_group_state.PartitionResult, Decision]:
        """Forget the state, if there is one."""
        _check_number(key)
        self._check_topic(key)
        result = delete_share_group_state.PartitionResult(partition=key.partition)
        is_known = self.states.get(key) is not None
        return result, Decision((ShareStateRecord(key),)) if is_known else NOTHING

    def summarize(
        self,
        key: SharePartitionKey,
        asked: read_share_group_state_summary.PartitionData,
        moment: Moment,
    ) -> tuple[read_share_group_state_summary.PartitionResult, Decision]:
        """Return where the group is in the partition."""
        _check_number(key)
        self._check_topic(key)
        result = read_share_group_state_summary.PartitionResult(
            partition=key.partition, start_offset=NOT_INITIALIZED
        )
        state = self.states.get(key)
        if state is not None:
            result.start_offset = state.start_offset
            result.delivery_complete_count = state.delivery_complete_count
            result.leader_epoch = state.leader_epoch
            result.state_epoch = state.state_epoch
        return result, NOTHING

    def forget_deleted_topics(self, topic_id_of: Callable[[str], UUID | None]) -> Decision:
        """Forget the state in topics that exist no longer."""
        tombstones = [
            ShareStateRecord(key)
            for key, _ in self.states.items()
            if key.topic_id not in self._topics_by_id
        ]
        return Decision(tombstones, is_atomic=False)

    def _initialized(self, key: SharePartitionKey, operation: str) -> ShareState:
        state = self.states.get(key)
        if state is None:
            raise ApiError(
                ErrorCode.INVALID_REQUEST,
                f"{operation} operation on uninitialized share partition not allowed.",
            )
        return state

    def _check_leader(self, key: SharePartitionKey, leader_epoch: int) -> None:
        if leader_epoch != UNCHANGED and leader_epoch < self.states.leader_epoch(key):
            raise ApiError(ErrorCode.FENCED_LEADER_EPOCH)

    def _check_state_epoch(self, key: SharePartitionKey, state_epoch: int) -> None:
        if state_epoch != UNCHANGED and state_epoch < self.states.state_epoch(key):
            raise ApiError(ErrorCode.FENCED_STATE_EPOCH)

    def _check_topic(self, key: SharePartitionKey) -> None:
        topic = self._topics_by_id.get(key.topic_id)
        if topic is None or key.partition not in topic.partitions:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def _append(
        self, key: SharePartitionKey, state: ShareState, update: ShareUpdate, moment: Moment
    ) -> Decision:
        """Append an update, or the snapshot that it leads to."""
        if not self.states.needs_snapshot(key):
            return Decision((ShareStateRecord(key, update),))
        snapshot = slotted.evolve(
            state.updated(update),
            snapshot_epoch=state.snapshot_epoch + 1,
            created_ms=moment.time_ms,
            written_ms=moment.time_ms,
        )
        return Decision((ShareStateRecord(key, snapshot),))

    # -- replay ----------------------------------------------------------------------------------

    def decode(self, key: bytes | None, value: bytes | None) -> ShareStateRecord:
        return ShareStateRecord.decode(key or b"", value)

    def replay(self, record: ShareStateRecord) -> None:
        """Apply one record of which it is not known where it is in the log."""
        self.replay_at(record, 0)

    def replay_at(self, record: ShareStateRecord, offset: int) -> None:
        """Apply one record of the log."""
        self.states.replay(record, offset)

    # -- time ------------------------------------------------------------------------------------

    def loaded(self, moment: Moment) -> list[Decision]:
        """Begin to watch the time."""
        self._schedule_pruning(moment)
        self._schedule_snapshots(moment)
        return []

    def unloaded(self) -> None:
        """Do nothing: no request waits inside of the shard."""

    def _schedule_pruning(self, moment: Moment) -> None:
        deadline = moment.after(self._config.prune_interval_ms)
        self._timers.schedule(("prune",), deadline, self._prune)

    def _prune(self, moment: Moment) -> Decision:
        """Remove the records before the oldest one that is needed."""
        self._schedule_pruning(moment)
        return Decision(drops_before=self.states.first_needed_offset)

    def _schedule_snapshots(self, moment: Moment) -> None:
        deadline = moment.after(self._config.cold_interval_ms)
        self._timers.schedule(("cold snapshots",), deadline, self._snapshot_cold)

    def _snapshot_cold(self, moment: Moment) -> Decision:
        """Write a snapshot for each share partition that got none for long.

        Not if all are at rest: then new snapshots would only make the log longer.
        """
        self._schedule_snapshots(moment)
        states = self.states.items()
        if all(state.created_ms != state.written_ms for _, state in states):
            return NOTHING
        latest_ms = moment.time_ms - self._config.cold_interval_ms
        return Decision(
            [
                ShareStateRecord(
                    key,
                    slotted.evolve(
                        state, snapshot_epoch=state.snapshot_epoch + 1, written_ms=moment.time_ms
                    ),
                )
                for key, state in states
                if state.written_ms <= latest_ms
            ],
            is_atomic=False,
        )


def _check_number(key: SharePartitionKey) -> None:
    if key.partition < 0:
        raise ApiError(ErrorCode.INVALID_REQUEST, "The partition id cannot be a negative number.")
