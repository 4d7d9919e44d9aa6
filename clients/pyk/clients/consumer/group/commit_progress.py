"""Tell how far the partitions of a group are handed out, finished and committed. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from pyk.clients.consumer.commits.commits import AutoCommit, Finished, HandledOffsets, Offsets
from pyk.clients.consumer.positions.assigned_partition import AssignedPartition
from pyk.clients.consumer.positions.assigned_partitions import AssignedPartitions
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition

if TYPE_CHECKING:
    from pyk.clients.consumer.buffer.fetch_buffer import FetchBuffer


class CommitProgress:
    """Compares the positions of assigned partitions with what is committed of them.

    ``auto_commit`` remembers what is committed, also by calls of the application.
    """

    def __init__(
        self, partitions: AssignedPartitions, buffer: FetchBuffer, auto_commit: AutoCommit
    ) -> None:
        self._partitions = partitions
        self._buffer = buffer
        self._auto_commit = auto_commit
        self.handled: HandledOffsets | None = None
        """What ``process()`` knows of the records that it was handed, while it runs."""

    def finished(
        self, partitions: Collection[TopicPartition] | None = None
    ) -> dict[TopicPartition, Finished]:
        """Return the offset at which the group would go on, for each partition where it is known.

        Offsets of a topic that seems to be deleted are none of the one that was created again.
        """
        found = {}
        for assigned in self._partitions:
            partition = assigned.topic_partition
            if (partitions is None or partition in partitions) and not assigned.is_disputed:
                offset, epoch = self._buffer.finished(assigned.buffer)
                if offset >= 0:
                    known_epoch = epoch if epoch >= 0 else None
                    target = OffsetAndMetadata(offset, "", known_epoch)
                    # Asked after the buffer: what that calls finished is known to the handlers.
                    target = self._unfinished(assigned) or target
                    found[partition] = Finished(target, assigned.version, assigned.first_version)
        return found

    def _unfinished(self, assigned: AssignedPartition) -> OffsetAndMetadata | None:
        """Return where ``process()`` would go on after a restart, None if all is finished."""
        return None if self.handled is None else self.handled.restart_at(assigned.buffer.assignment)

    def news(
        self, partitions: Collection[TopicPartition] | None = None
    ) -> dict[TopicPartition, Finished]:
        """Return what is finished and not committed yet, of the given or of all partitions."""
        return self._auto_commit.news(self.finished(partitions))

    def uncommitted(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the position of each partition with records that were handed out and are not
        committed."""
        return {
            assigned.topic_partition: assigned.buffer.position
            for assigned in self._partitions
            if assigned.topic_partition in partitions
            and assigned.buffer.has_handed_out
            and not assigned.is_disputed
            and self._auto_commit.is_behind(
                assigned.topic_partition, assigned.buffer.position, assigned.first_version
            )
        }

    def restart_offset(self, assigned: AssignedPartition) -> int:
        """Return the position before the records that were handed out and not committed.

        That is the last committed offset, or where the position was set since; -1 if unknown.
        """
        committed = self._auto_commit.committed_at(assigned.topic_partition, assigned.version)
        return assigned.buffer.begun if committed is None else committed

    def begun_with(self, assigned: AssignedPartition) -> OffsetAndMetadata | None:
        """Return the committed offset, and its note, if reading began there, or at the first offset
        after it that the log has; otherwise None."""
        committed = self._auto_commit.last_stored(assigned.topic_partition)
        return committed if committed.offset == assigned.noted_offset else None

    def stored(self, offsets: Offsets, versions: Mapping[TopicPartition, int]) -> None:
        """Record committed offsets, and the versions of the positions that they come from."""
        for partition, version in versions.items():
            if partition in self._partitions:
                stored = offsets[partition]
                self._auto_commit.stored(partition, stored.offset, version, stored.metadata)

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """Forget the committed offsets of partitions that other members may commit now."""
        self._auto_commit.forget(partitions)
