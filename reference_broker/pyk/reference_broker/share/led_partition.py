"""One share partition at the leader of its partition: loaded, served, and stored.

It is loaded from the share coordinator when a member first asks for it, and given up when this
broker no longer leads the partition. What members acknowledge is sent to the coordinator before
they are answered. Locks that are over are found by one timer, set for the first of them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.read_share_group_state import PartitionResult
from pyk.protocol.messages.write_share_group_state import PartitionData
from pyk.protocol.messages.write_share_group_state import StateBatch as WrittenBatch
from pyk.reference_broker.coordinator.share.records import batches_of
from pyk.reference_broker.coordinator.share.share_partition import SharePartitionKey
from pyk.reference_broker.coordinator.share.state_batches import StateBatch
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.partition import Partition
from pyk.reference_broker.storage import LogError
from pyk.runtime.timers import Moment, TimerQueue

from .acknowledgement import Acknowledgement, Acknowledger, AcknowledgeType, acknowledge
from .acquisition import AcquiredRecords, AcquireRequest, Extent, acquire
from .settings import ShareGroupSettings
from .share_partition import Limits, SharePartition, StoredState

log = logging.getLogger(__name__)

NOT_INITIALIZED = -1
NEVER = float("inf")
DROPPED_BY = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
"""After these errors nothing here is true any more."""

_ERRORS = {
    ErrorCode.NOT_COORDINATOR: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.GROUP_ID_NOT_FOUND: ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_STATE_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
}

Outcome = ApiError | None
"""Why something failed, None if it did not."""


class Persister(Protocol):
    """Keeps the state of share partitions, see :mod:`~pyk.reference_broker.share_persister`."""

    def read(self, key: SharePartitionKey, leader_epoch: int) -> Deferred[PartitionResult]: ...
    def write(self, key: SharePartitionKey, change: PartitionData) -> Deferred[Any]: ...


class ShareEnvironment(Protocol):
    """What share partitions use of their broker."""

    @property
    def persister(self) -> Persister: ...
    @property
    def timers(self) -> TimerQueue: ...
    def moment(self) -> Moment: ...
    def settings_of(self, group_id: str) -> ShareGroupSettings: ...
    def moved(self, partition: Partition) -> None: ...


class LedSharePartition:
    """A share partition that this broker serves. ``when_dropped`` is called once it does not."""

    def __init__(
        self,
        key: SharePartitionKey,
        partition: Partition,
        environment: ShareEnvironment,
        when_dropped: Callable[[LedSharePartition], None],
    ) -> None:
        self.key = key
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.state: SharePartition | None = None
        """None until it is loaded."""
        self.failure: ApiError | None = None
        """Why it could not be loaded."""
        self._environment = environment
        self._when_dropped = when_dropped
        self.is_dropped = False
        self._writing = 0
        self._when_stored: list[Deferred[None]] = []
        self._looks_at = NEVER
        """When it is looked for locks that are over."""
        partition.add_listener(self._partition_moved)
        environment.persister.read(key, self.leader_epoch).when_done(self._loaded)

    def __repr__(self) -> str:
        return f"LedSharePartition({self.key}, epoch {self.leader_epoch}, {self.state})"

    @property
    def settings(self) -> ShareGroupSettings:
        return self._environment.settings_of(self.key.group_id)

    @property
    def limits(self) -> Limits:
        return self.settings.limits

    # -- life ------------------------------------------------------------------------------------

    def drop(self) -> None:
        """Forget everything: another leader, or nobody, serves it from now on."""
        if self.is_dropped:
            return
        self.is_dropped = True
        self._environment.timers.cancel(self)
        self.partition.remove_listener(self._partition_moved)
        self._when_dropped(self)
        self._environment.moved(self.partition)

    def when_stored(self) -> Deferred[None]:
        """Return what is done once nothing is being stored."""
        stored: Deferred[None] = Deferred()
        self._when_stored.append(stored)
        self._tell_stored()
        return stored

    def _tell_stored(self) -> None:
        if not self._writing:
            waiting, self._when_stored = self._when_stored, []
            for stored in waiting:
                stored.complete(None)

    def _partition_moved(self, partition: Partition) -> None:
        if not partition.is_leader or partition.leader_epoch != self.leader_epoch:
            self.drop()

    def _loaded(self, result: PartitionResult) -> None:
        if self.is_dropped:
            return
        error = _error_of(result)
        if error is None:
            try:
                start_offset = self._start_offset(result.start_offset)
            except ApiError as refusal:
                error = refusal
            except LogError as cause:
                error = ApiError(cause.code, cause.message)
        if error is not None:
            log.info("Could not load share partition %s: %s", self.key, error)
            self.failure = error
            self.drop()
            return
        stored = StoredState(result.state_epoch, start_offset, batches_of(result.state_batches))
        self.state = SharePartition(stored)
        self._environment.moved(self.partition)

    def _start_offset(self, stored: int) -> int:
        """Return where the group begins: where it was, or where its configuration says."""
        if stored != NOT_INITIALIZED:
            return stored
        timestamp = self.settings.reset_timestamp(self._environment.moment().time_ms)
        found = self.partition.reader.list_offset(timestamp)
        if found is None:  # as in Kafka, the group begins once there is a record as young as that
            raise ApiError(ErrorCode.OFFSET_NOT_AVAILABLE)
        return found.offset

    # -- members ---------------------------------------------------------------------------------

    def acquire(self, request: AcquireRequest, extents: Sequence[Extent]) -> list[AcquiredRecords]:
        """Acquire records for a member, of the batches that were read."""
        assert self.state is not None
        acquired = acquire(self.state, request, extents, self.limits)
        if acquired:
            self._expire_at(request.locked_until)
        return acquired

    def acknowledge(
        self, member_id: str, acknowledgements: Sequence[Acknowledgement]
    ) -> Deferred[Outcome]:
        """Carry out what a member says; the outcome comes when that is stored."""
        if self.state is None:
            return _known(ApiError(ErrorCode.INVALID_RECORD_STATE))
        now, limits = self._environment.moment().now, self.limits
        by = Acknowledger(member_id=member_id, now=now, limits=limits)
        try:
            changes = acknowledge(self.state, by, acknowledgements)
        except ApiError as error:
            return _known(error)
        if any(AcknowledgeType.RENEW in each.types for each in acknowledgements):
            self._expire_at(now + limits.lock_seconds)
        return self._store(changes)

    def give_back(self, member_id: str, acquired: Sequence[AcquiredRecords]) -> None:
        """Undo acquisitions that the member was not told of."""
        if self.state is not None:
            ranges = [(each.first_offset, each.last_offset) for each in acquired]
            self.state.give_back(member_id, ranges)
            self._environment.moved(self.partition)

    def release(self, member_id: str) -> Deferred[Outcome]:
        """Release what a member has acquired: its session has ended."""
        if self.state is None:
            return _known(None)
        return self._store(self.state.release(member_id, self.limits))

    def _store(self, changes: list[StateBatch]) -> Deferred[Outcome]:
        if not changes:
            return _known(None)
        changes = merged(changes)

        def settle(result: Any) -> Outcome:
            error = _error_of(result, "Error in write state RPC. ")
            self._settle(changes, error)
            self._tell_stored()
            return error

        return self._write(changes).then(settle)

    def _settle(self, changes: list[StateBatch], error: Outcome) -> None:
        if self.is_dropped or self.state is None:
            return
        if error is not None and error.code in DROPPED_BY:
            self.drop()
            return
        now = self._environment.moment().now
        self.state.settle(changes, is_stored=error is None, now=now, limits=self.limits)
        self._environment.moved(self.partition)

    def _write(self, changes: Sequence[StateBatch]) -> Deferred[Any]:
        assert self.state is not None
        self._writing += 1
        written = self._environment.persister.write(
            self.key,
            PartitionData(
                state_epoch=self.state.state_epoch,
                leader_epoch=self.leader_epoch,
                start_offset=self.state.start_offset,
                delivery_complete_count=self.state.delivery_complete_count,
                state_batches=[
                    WrittenBatch(
                        first_offset=change.first_offset,
                        last_offset=change.last_offset,
                        delivery_state=change.delivery_state,
                        delivery_count=change.delivery_count,
                    )
                    for change in merged(changes)
                ],
            ),
        )
        return written.then(self._written)

    def _written(self, result: Any) -> Any:
        self._writing -= 1
        return result

    # -- locks -----------------------------------------------------------------------------------

    def _expire_at(self, deadline: float) -> None:
        """Look for locks that are over at a deadline, or before: locks may become shorter."""
        if deadline < self._looks_at:
            self._looks_at = deadline
            self._environment.timers.schedule(self, deadline, self._expire)

    def _expire(self, now: float) -> None:
        assert self.state is not None
        self._looks_at = NEVER
        changes = self.state.expire(now, self.limits)
        deadline = self.state.next_expiry(now)
        if deadline is not None:
            self._expire_at(deadline)
        if changes:
            log.debug("Locks of share partition %s are over: %s", self.key, changes)
            self._write(changes).when_done(self._expired)
            self._environment.moved(self.partition)

    def _expired(self, result: Any) -> None:
        # They are free whether or not that is stored.
        error = _error_of(result)
        if error is not None and error.code in DROPPED_BY:
            self.drop()
        elif self.state is not None:
            self.state.advance()
            self._environment.moved(self.partition)
        self._tell_stored()


def merged(changes: Sequence[StateBatch]) -> list[StateBatch]:
    """Return the changes with neighbours that are the same as one."""
    found: list[StateBatch] = []
    for change in changes:
        last = found[-1] if found else None
        if (
            last is not None
            and change.first_offset == last.last_offset + 1
            and change.delivery == last.delivery
        ):
            found[-1] = last._replace(last_offset=change.last_offset)
        else:
            found.append(change)
    return found


def _error_of(result: Any, prefix: str = "") -> Outcome:
    """Return the error for members in a result of the share coordinator."""
    code = ErrorCode(result.error_code)
    if code is ErrorCode.NONE:
        return None
    message = None if result.error_message is None else prefix + result.error_message
    return ApiError(_ERRORS.get(code, ErrorCode.UNKNOWN_SERVER_ERROR), message)


def _known(outcome: Outcome) -> Deferred[Outcome]:
    known: Deferred[Outcome] = Deferred()
    known.complete(outcome)
    return known
