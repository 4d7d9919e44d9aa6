"""Compact the logs of a broker, the dirtiest first, beside what else is done with them.

``run`` looks for a log that is worth a pass when there is room for one more, and again after
``log.cleaner.backoff.ms``. A pass runs on the disk, a slice at a time; between two slices the
broker's loop swaps the segments that are ready, and ``log.cleaner.io.max.bytes.per.second`` may
make it wait.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from pyk.protocol.records.layout import MAX_INT64
from pyk.reference_broker.config import BrokerConfig
from pyk.reference_broker.storage.compaction.cleanable import (
    Cleanable,
    SegmentFacts,
    find_cleanable,
)
from pyk.reference_broker.storage.disk import Disk
from pyk.reference_broker.storage.errors import LogError, helpful_traceback
from pyk.reference_broker.storage.flushing import OUT_OF_RESOURCES
from pyk.reference_broker.storage.log import Log
from pyk.reference_broker.storage.segment import LogSegment
from pyk.reference_broker.storage.unstable_transactions import EndedTransaction
from pyk.runtime import slotted
from pyk.runtime.clock import Clock
from pyk.runtime.filesystem.open_files import OpenFiles

if TYPE_CHECKING:
    from pyk.reference_broker.storage.compaction.compaction import Compaction

# What a pass needs is imported with the first pass: a broker must start fast.

log = logging.getLogger(__name__)

SLICE_BYTES = 1 << 20


@slotted.define(eq=False)
class _Pass:
    """A pass that is under way; ``sources`` are the segments that it has yet to replace, and their
    sizes."""

    log: Log
    compaction: Compaction
    steps: Iterator[int]
    sources: dict[LogSegment, int]
    bytes_before: int
    slice_bytes: int = 0
    is_done: bool = False

    @property
    def is_outdated(self) -> bool:
        """Whether segments were deleted or truncated meanwhile, so that it must not go on."""
        finished = set(list(self.log.segments)[:-1])
        return self.log.is_moving or any(
            segment not in finished or segment.size != size
            for segment, size in self.sources.items()
        )


class LogCompactor:
    """The compaction of the logs of a broker. Belongs to the broker's loop.

    ``arm`` is told when to call ``run`` the next time; ``is_used`` tells whether a log is still one
    of ``logs``; ``when_compacted`` is called after each pass.
    """

    def __init__(
        self,
        logs: Iterable[Log],
        is_used: Callable[[Log], bool],
        clock: Clock,
        disk: Disk,
        when_compacted: Callable[[], object],
    ) -> None:
        self.arm: Callable[[float], None] = lambda at: None
        self._logs = logs
        self._is_used = is_used
        self._clock = clock
        self._disk = disk
        self._when_compacted = when_compacted
        self._passes: dict[Log, _Pass] = {}
        self._waiting: list[_Pass] = []
        self._not_before: dict[Log, float] = {}
        self._io_allowed_at = clock.now()
        self._found_nothing_at = -inf
        self._is_closed = False

    def run(self, config: BrokerConfig) -> None:
        """Go on with what waits, begin what there is room for, and plan the next run."""
        if self._is_closed or not config.log_cleaner_enable:
            return
        now = self._clock.now()
        if now < self._io_allowed_at:
            self.arm(self._io_allowed_at)
            return
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            self._run_slice(each, config)
        while self._may_begin(now, config):
            if not self._begin_next(config):
                self._found_nothing_at = now
                break
        waits_for_io = bool(self._waiting)
        self.arm(
            self._io_allowed_at if waits_for_io else now + config.log_cleaner_backoff_ms / 1000
        )

    def close(self) -> None:
        """Begin nothing more; what runs ends with its slice, and leaves its log as it is."""
        self._is_closed = True
        for waiting in self._waiting:
            self._end(waiting)

    # Choosing

    def _may_begin(self, now: float, config: BrokerConfig) -> bool:
        """Whether to look for one more log: not with each slice of a pass that goes on alone."""
        if len(self._passes) >= config.log_cleaner_threads:
            return False
        backoff = config.log_cleaner_backoff_ms / 1000
        return not self._passes or now >= self._found_nothing_at + backoff

    def _begin_next(self, config: BrokerConfig) -> bool:
        """Begin a pass over the dirtiest log; return whether one is worth it."""
        logs = dict.fromkeys(self._logs)
        self._not_before = {each: at for each, at in self._not_before.items() if each in logs}
        worth = [
            (cleanable.dirty_ratio, each, cleanable)
            for each in logs
            if self._may_be_compacted(each)
            and (cleanable := self._cleanable(each, config)) is not None
        ]
        if not worth:
            return False
        _, dirtiest, cleanable = max(worth, key=lambda entry: entry[0])
        self._begin(dirtiest, cleanable, config)
        return True

    def _may_be_compacted(self, each: Log) -> bool:
        return (
            each.config.is_compacted
            and not each.is_moving
            and len(each.segments) > 1
            and each.failure is None
            and each not in self._passes
            and self._not_before.get(each, 0.0) <= self._clock.now()
        )

    def _cleanable(self, each: Log, config: BrokerConfig) -> Cleanable | None:
        """Return what to compact of a log, None if that is not worth a pass.

        What is finished and not yet on the disk is flushed, for the next look.
        """
        each.flusher.request(each.segments.active.base_offset)
        try:
            cleanable = find_cleanable(
                list(_facts(each)),
                each.config,
                compacted_to=each.compacted_to,
                log_start_offset=each.log_start_offset,
                stable_offset=min(each.last_stable_offset, each.recovery_point),
                now_ms=self._clock.time_ms(),
            )
        except (OSError, LogError) as error:
            self._report(each, error, config)
            return None
        is_worth = cleanable.is_worth_a_pass(each.config.min_cleanable_dirty_ratio)
        return cleanable if is_worth else None

    # Running

    def _begin(self, chosen: Log, cleanable: Cleanable, config: BrokerConfig) -> None:
        from pyk.reference_broker.storage.compaction.compaction import (
            OPEN_FILES,
            Compaction,
            CompactionPlan,
        )

        below = [each for each in chosen.segments if each.base_offset < cleanable.end_offset]
        plan = CompactionPlan(
            directory=chosen.directory,
            segments=tuple(
                each for each in _facts(chosen) if each.end_offset <= cleanable.end_offset
            ),
            cleanable=cleanable,
            config=chosen.config,
            aborted=_aborted(chosen),
            last_batches=_last_batches(chosen),
            now_ms=self._clock.time_ms(),
            key_memory_bytes=_key_memory(config),
            io_buffer_bytes=config.log_cleaner_io_buffer_size,
        )
        compaction = Compaction(OpenFiles(chosen.filesystem, OPEN_FILES), plan)
        begun = _Pass(
            chosen,
            compaction,
            compaction.steps(),
            {each: each.size for each in below},
            chosen.segments.size,
        )
        self._passes[chosen] = begun
        self._run_slice(begun, config)

    def _run_slice(self, running: _Pass, config: BrokerConfig) -> None:
        self._disk.run(partial(_slice, running), partial(self._slice_done, running, config))

    def _slice_done(
        self, running: _Pass, config: BrokerConfig, error: BaseException | None
    ) -> None:
        """Swap what is ready, and let the pass go on when it may."""
        if self._is_closed or running.is_outdated or not self._is_used(running.log):
            self._end(running)
        elif error is not None:
            self._report(running.log, error, config)
            self._end(running)
        elif not _swap(running, self._clock.now()):
            del self._passes[running.log]
        elif running.is_done:
            self._finish(running)
        else:
            self._waiting.append(running)
        per_second = max(config.log_cleaner_io_max_bytes_per_second, 1.0)
        # All passes share the limit: each waits for what the others have read and written, too.
        begun_at = max(self._io_allowed_at, self._clock.now())
        self._io_allowed_at = begun_at + round(running.slice_bytes / per_second, 6)
        if not self._is_closed:
            self.arm(self._io_allowed_at)

    def _finish(self, running: _Pass) -> None:
        del self._passes[running.log]
        running.log.compacted_to = running.compaction.compacted_to
        log.info(
            "Compacted %s up to offset %d: %d bytes are left of %d",
            running.log,
            running.log.compacted_to,
            running.log.segments.size,
            running.bytes_before,
        )
        self._when_compacted()

    def _end(self, running: _Pass) -> None:
        """End a pass that cannot go on; what it has swapped stays."""
        self._passes.pop(running.log, None)
        self._disk.run(running.compaction.give_up, lambda _: None)

    def _report(self, of: Log, error: BaseException, config: BrokerConfig) -> None:
        """Log a failure. A log that is damaged is not tried again before it is opened again."""
        reason = error if isinstance(error, OSError) else error.__cause__
        if isinstance(reason, OSError) and reason.errno in OUT_OF_RESOURCES:
            self._not_before[of] = self._clock.now() + config.log_cleaner_backoff_ms / 1000
            log.warning("Could not compact %s, will try again: %s", of, error)
            return
        self._not_before[of] = inf
        log.error(
            "Could not compact %s: %s. It is not compacted until the broker is restarted",
            of,
            error,
            exc_info=helpful_traceback(error),
        )


def _slice(running: _Pass) -> None:
    """Do steps of a pass until a segment is ready or enough is read and written."""
    running.slice_bytes = 0
    while running.slice_bytes < SLICE_BYTES and not running.compaction.ready:
        step = next(running.steps, None)
        if step is None:
            running.is_done = True
            return
        running.slice_bytes += step


def _swap(running: _Pass, now: float) -> bool:
    """Put the segment that is ready into its place, if there is one; return whether that worked.

    Otherwise the log lacks records until the next start finishes the swap, so it is out of use.
    """
    group, compacted = running.compaction.ready, running.log
    if not group:
        return True
    replaced = [each for each in running.sources if each.base_offset <= group[-1].base_offset]
    remove_at = now + compacted.config.file_delete_delay_ms / 1000
    try:
        compacted.segments.replace(replaced, group[0].base_offset, remove_at)
        compacted.snapshots.keep(compacted.segments.base_offsets)
    except OSError as error:
        compacted.flusher.fail(error, "swap segments of")
        return False
    for segment in replaced:
        del running.sources[segment]
    running.compaction.swapped()
    return True


def _facts(each: Log) -> Iterator[SegmentFacts]:
    ends = [*each.segments.base_offsets[1:], each.log_end_offset]
    has_longest_lag = each.config.max_compaction_lag_ms < MAX_INT64
    for segment, end in zip(each.segments, ends, strict=True):
        indexes = segment.indexes
        yield SegmentFacts(
            segment.base_offset,
            end,
            segment.size,
            max(indexes.offsets.entries.size_in_bytes, indexes.times.entries.size_in_bytes),
            (segment.first_timestamp or 0) if has_longest_lag else 0,
            segment.largest_timestamp_ms,
        )


def _aborted(each: Log) -> tuple[EndedTransaction, ...]:
    """Return the aborted transactions whose markers are in the log."""
    found: list[EndedTransaction] = []
    for segment in each.segments:
        found += segment.indexes.transactions.overlapping(0, MAX_INT64)[0]
    return tuple(found)


def _last_batches(each: Log) -> dict[int, tuple[int | None, int]]:
    return {
        entry.producer_id: (entry.batches[-1].last_offset if entry.batches else None, entry.epoch)
        for entry in each.producers
    }


def _key_memory(config: BrokerConfig) -> int:
    """Return the bytes for the keys of one pass: the buffer is shared by all that run at once."""
    room = config.log_cleaner_dedupe_buffer_size // max(config.log_cleaner_threads, 1)
    return int(room * config.log_cleaner_io_buffer_load_factor)
