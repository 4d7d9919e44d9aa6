"""Move logs between the data directories of a broker, while they are read and written (KIP-113).

A copy is made beside, chunk by chunk: the disk reads, the broker's loop appends. When the copy has
nearly all that the log has, it is flushed, gets the last records, and takes the log's place in one
turn of the loop, so nothing is appended in between. See ``log_generation`` for crashes. As in
Kafka, the controller is told before: while the copy's directory is offline, nobody knows whether
the log still counts, and its broker does not use it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from uuid import UUID

from pyk.protocol.records import RecordBatchError, read_batches
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.config import BrokerConfig
from pyk.reference_broker.storage.errors import LogError, helpful_traceback
from pyk.reference_broker.storage.file_records import FileRecords
from pyk.reference_broker.storage.log import Log
from pyk.reference_broker.storage.log_directory import LogDirectory
from pyk.reference_broker.storage.log_generation import (
    read_generation,
    remove_generation,
    write_generation,
)
from pyk.reference_broker.storage.log_homes import LogHomes
from pyk.reference_broker.storage.storage_environment import StorageEnvironment
from pyk.runtime import slotted

log = logging.getLogger(__name__)

CHUNK_BYTES = 1 << 20
MOVES_AT_ONCE = 4
"""Each holds a chunk in memory and some files open, so there must not be one for each log."""
RETRY_SECONDS = 10.0
WAIT_SECONDS = 0.1


@slotted.define(eq=False)
class Move:
    """A log on its way. ``copy`` is None before the first chunk, and after a failure.

    ``generation`` is what the copy will be, see ``log_generation``.
    """

    partition: TopicPartition
    topic_id: UUID | None
    source: Log
    target: LogDirectory
    generation: int = 1
    copy: Log | None = None
    is_close: bool = False
    """Whether the copy had all that the log had when it was last read."""
    is_marked: bool = False
    is_renamed: bool = False
    is_announced: bool = False
    """Whether the controller is told that the log is in the target."""
    is_busy: bool = False
    not_before: float = 0.0
    has_failed: bool = False

    @property
    def is_behind(self) -> bool:
        return self.copy is None or self.copy.log_end_offset < self.source.log_end_offset

    @property
    def offset_lag(self) -> int:
        """How many offsets the copy is behind."""
        end = self.source.log_start_offset if self.copy is None else self.copy.log_end_offset
        return self.source.log_end_offset - end


class LogMoves:
    """All moves of a broker. Belongs to its loop.

    ``arm`` is told when to call ``run`` the next time. ``announce`` tells the controller where a
    log is about to be, or is after all, and returns whether it knows. ``when_moved`` is told of
    each log that has taken the place of another.
    """

    def __init__(
        self,
        homes: LogHomes,
        environment: StorageEnvironment,
        config: Callable[[], BrokerConfig],
        *,
        arm: Callable[[float], object],
        announce: Callable[[TopicPartition], bool],
        when_moved: Callable[[Log], object],
    ) -> None:
        self._arm = arm
        self._announce = announce
        self._when_moved = when_moved
        self._homes = homes
        self._environment = environment
        self._config = config
        self._moves: dict[TopicPartition, Move] = {}
        self._io_allowed_at = 0.0

    def get(self, partition: TopicPartition) -> Move | None:
        """Return the move of a partition."""
        return self._moves.get(partition)

    def begin(self, source: Log, topic_id: UUID | None, target: LogDirectory) -> None:
        """Begin to move a log; one that moves to another directory already changes its way."""
        partition = source.topic_partition
        self.end(partition)
        self._moves[partition] = Move(partition, topic_id, source, target)
        source.is_moving = True
        log.info("Moving %s to %s", source, target.path)
        self._arm(self._environment.clock.now())

    def end(self, partition: TopicPartition) -> None:
        """Give a move up, if there is one; its copy is deleted."""
        move = self._moves.pop(partition, None)
        if move is not None:
            move.source.is_moving = False
            self._discard_copy(move)
            self._withdraw(move)
            self._arm(self._environment.clock.now())  # another one may begin

    def end_all_of(self, directory: LogDirectory) -> None:
        """Give up the moves from and to a directory that has failed."""
        for partition, move in tuple(self._moves.items()):
            if directory in (move.target, self._homes.of(partition)):
                self.end(partition)

    def close(self) -> None:
        """Stop moving: the broker ends. The copies show the next start what was on its way."""
        self._moves.clear()

    def run(self) -> None:
        """Take some moves a step further, and plan the next run."""
        now = self._environment.clock.now()
        for move in self._active(now):
            if not move.is_busy and self._io_allowed_at <= now:
                self._guard(move, self._step)
        waiting = [
            max(move.not_before, self._io_allowed_at)
            for move in (self._active(now) or self._moves.values())
            if not move.is_busy
        ]
        if waiting:
            self._arm(min(waiting))

    def _active(self, now: float) -> list[Move]:
        """Return the moves whose turn it is: the first ones that need not wait after a failure."""
        ready = [each for each in self._moves.values() if each.is_busy or each.not_before <= now]
        return ready[:MOVES_AT_ONCE]

    def _guard(self, move: Move, step: Callable[[Move], None]) -> None:
        """Carry out a step; after a failure the copy is made again, later."""
        try:
            step(move)
        except (LogError, RecordBatchError, OSError) as error:
            self._fail(move, error)

    def _step(self, move: Move) -> None:
        if move.copy is None:
            self._begin_copy(move)
        elif move.is_behind and not move.is_close:
            self._read(move)
        else:
            self._flush(move)

    # Copying

    def _begin_copy(self, move: Move) -> None:
        source = move.source
        earlier = read_generation(source.filesystem, source.directory)
        if earlier:
            self._delete_others(move.partition)
        move.generation = earlier + 1
        move.target.prepare_name(move.partition)
        move.copy = move.target.futures.create(
            move.partition, source.config, move.topic_id, source.log_start_offset
        )

    def _delete_others(self, partition: TopicPartition) -> None:
        """Delete what an earlier move may have left of the other log: the target may have it."""
        home = self._homes.of(partition)
        for directory in self._homes.directories:
            if directory is not home:
                directory.delete(partition)

    def _read(self, move: Move) -> None:
        """Let the disk read the next chunk."""
        records, data = self._next_records(move), list[bytes]()
        end_offset = move.source.log_end_offset
        move.is_busy = True

        def done(error: BaseException | None) -> None:
            move.is_busy = False
            if self._moves.get(move.partition) is not move:
                return
            if error is not None:
                self._fail(move, error)
            else:
                self._guard(move, lambda each: self._append(each, data[0], end_offset))
                move.is_close = move.copy is not None and move.copy.log_end_offset >= end_offset
                self._charge(data[0])
            self._arm(self._io_allowed_at)

        self._environment.disk.run(lambda: data.append(records.read()), done)

    def _next_records(self, move: Move) -> FileRecords:
        source, copy = move.source, move.copy
        assert copy is not None
        if copy.log_end_offset < source.log_start_offset:
            copy.truncate_fully(source.log_start_offset)  # they were deleted meanwhile
        return source.reader.read(
            copy.log_end_offset, min(CHUNK_BYTES, source.config.max_segment_bytes)
        )

    def _append(self, move: Move, data: bytes, end_offset: int) -> None:
        """Append a chunk to the copy; without one, the log has no batch below ``end_offset``."""
        copy = move.copy
        assert copy is not None
        if not data:
            # It ends after its last batch: later ones were compacted away.
            copy.roll(end_offset)
            copy.flusher.appended(end_offset, copy.config.flush_messages)
            return
        if copy.log_start_offset == copy.log_end_offset:
            # The log may start in the middle of a batch.
            first = next(read_batches(data)).base_offset
            if first < copy.log_end_offset:
                copy.truncate_fully(first)
        if len(data) > copy.config.max_segment_bytes:
            copy.config = slotted.evolve(
                copy.config, segment_bytes=len(data), internal_segment_bytes=None
            )
        copy.append_as_follower(data)
        copy.flusher.request(copy.segments.active.base_offset)

    def _charge(self, data: bytes) -> None:
        """Wait for as long as ``replica.alter.log.dirs.io.max.bytes.per.second`` says."""
        per_second = self._config().replica_alter_log_dirs_io_max_bytes_per_second
        now = self._environment.clock.now()
        self._io_allowed_at = now + round(len(data) / per_second, 6)

    # Taking the place of the log

    def _flush(self, move: Move) -> None:
        """Bring the copy onto the disk, with its generation; then let it take the log's place."""
        copy = move.copy
        assert copy is not None
        copy.leader_epochs.copy_from(move.source.leader_epochs)
        move.is_busy = True

        def flushed() -> None:
            if self._moves.get(move.partition) is not move:
                return
            mark = partial(write_generation, copy.filesystem, copy.directory, move.generation)
            self._environment.disk.run((lambda: None) if move.is_marked else mark, marked)

        def marked(error: BaseException | None) -> None:
            move.is_busy = False
            if self._moves.get(move.partition) is not move:
                return
            if error is not None:
                self._fail(move, error)
            else:
                move.is_marked = True
                self._guard(move, self._replace)
            self._arm(self._environment.clock.now())

        copy.flusher.flush_all(flushed)

    def _replace(self, move: Move) -> None:
        """Let the copy take the log's place, unless there is more to copy first."""
        source, copy, target = move.source, move.copy, move.target
        assert copy is not None
        copied = 0
        while move.is_behind and copied < CHUNK_BYTES:
            data = self._next_records(move).read()
            copied += len(data)
            self._append(move, data, source.log_end_offset)
        if move.is_behind:
            move.is_close = False
            return
        source.flusher.check()
        move.is_announced = True
        if not (target.is_name_free(move.partition) and self._announce(move.partition)):
            move.not_before = self._environment.clock.now() + WAIT_SECONDS
            return
        copy.flusher.flush_now()
        if not target.write_offsets_of_copy(copy, source.log_start_offset):
            move.not_before = self._environment.clock.now() + WAIT_SECONDS
            return
        copy.close()
        move.is_renamed = True
        target.rename_copy(move.partition)
        moved = target.open_moved(source)
        home = self._homes.of(move.partition)
        del self._moves[move.partition]
        self._homes.add(move.partition, target)
        self._when_moved(moved)
        log.info("Moved %s to %s", moved, target.path)
        if home is not None:
            self._delete_source(move, home, moved)

    def _delete_source(self, move: Move, home: LogDirectory, moved: Log) -> None:
        try:
            home.delete(move.partition)
        except OSError as error:
            # By its generation the next start tells that this log is not needed.
            home.tasks.log_failure(f"Deleting {move.source}, which has moved", error)
            return

        def finish() -> None:
            home.data_directory.filesystem.sync_directory(home.path)
            # Otherwise a lost disk may have a log of before, or the next move was given up.
            if read_generation(moved.filesystem, moved.directory) == 1:
                remove_generation(moved.filesystem, moved.directory)

        self._environment.disk.run(finish, lambda _: None)

    # Failures

    def _fail(self, move: Move, error: BaseException) -> None:
        """Make the copy again later: the disk may be full. A broken one ends the move."""
        if not move.has_failed:
            log.warning(
                "Could not move %s to %s, will try again: %s",
                move.source,
                move.target.path,
                error,
                exc_info=helpful_traceback(error),
            )
        move.has_failed = True
        if move.is_renamed and not self._take_back(move):
            self._moves.pop(move.partition, None)
            return
        self._discard_copy(move)
        self._withdraw(move)
        move.copy, move.is_close, move.is_marked, move.is_renamed = None, False, False, False
        move.not_before = self._environment.clock.now() + RETRY_SECONDS

    def _take_back(self, move: Move) -> bool:
        """Use the log on although its copy has its name already: a start must know which counts.

        Returns False if that cannot be written down. Then the log is out of use, and its copy is
        where the controller looks for it.
        """
        source = move.source
        try:
            write_generation(source.filesystem, source.directory, move.generation + 1)
        except OSError as error:
            source.flusher.fail(error, "keep")
            source.flusher.when_moved()
            return False
        with suppress(OSError):
            move.target.delete(move.partition)
        return True

    def _withdraw(self, move: Move) -> None:
        """Tell the controller that the log stays where it is, if it was told otherwise."""
        if move.is_announced:
            move.is_announced = False
            self._announce(move.partition)

    def _discard_copy(self, move: Move) -> None:
        with suppress(OSError):
            move.target.discard_copy(move.partition)
