"""Plan a running stream: where it begins, the end of each micro-batch, the ranges of each task.

Spark makes these calls in this order for each batch, and may repeat any of them::

    initial_offset()           twice for batch 0, and again when batch 0 is replayed
    latest_offset(start)       100 times a second while nothing happens
    partitions(start, end)     once a batch; with the logged offsets when a batch is replayed
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from pyk.runtime.clock import Clock
from pyk.spark_connector.errors import DataLossError, ReadError
from pyk.spark_connector.idle_pace import IdlePace
from pyk.spark_connector.offsets import JsonOffsets, OffsetMap, StreamOffset
from pyk.spark_connector.options import SourceOptions
from pyk.spark_connector.planning import Admission, OffsetRange, plan_ranges, plan_tasks
from pyk.spark_connector.resolving import Cluster, reachable, resolve

log = logging.getLogger(__name__)

DATA_LOSS_HINT = "; set failOnDataLoss to false to go on without these records"
RECREATED = "topic {!r} was deleted and created again: what the query had not read of it is gone"
LOSS_WARNING = "Records were left out of the query, since failOnDataLoss is false: %s"


class StreamPlanner:
    """Plans the micro-batches of one run of one query; its offsets are those of Spark's log."""

    def __init__(
        self,
        options: SourceOptions,
        cluster: Cluster,
        clock: Clock,
        *,
        wait: Callable[[float], object],
        parallelism: int = 1,
    ) -> None:
        self._options = options
        self._cluster = cluster
        self._clock = clock
        self._wait = wait
        self._parallelism = parallelism
        self._pace = IdlePace()
        self._admission = Admission(
            min_offsets=options.min_offsets_per_trigger,
            max_offsets=options.max_offsets_per_trigger,
            max_delay_ms=options.max_trigger_delay_ms,
        )
        self._initial: StreamOffset | None = None
        self._latest: StreamOffset | None = None
        self._target: StreamOffset | None = None
        self._committed: OffsetMap | None = None

    def initial_offset(self) -> JsonOffsets:
        """Return where a new query begins; every call returns the same."""
        if self._initial is None:
            self._initial = self._resolve_initial()
        return self._initial.to_json()

    def latest_offset(self, start: Mapping[str, Any], *, limited: bool = True) -> JsonOffsets:
        """Return the end of the next micro-batch: ``start`` itself if there is nothing to read yet.

        Waits a moment first if the last request was costly and brought nothing new (``IdlePace``).
        ``limited`` is whether ``min`` and ``maxOffsetsPerTrigger`` apply.
        """
        self._wait_if_idle()
        begun = self._clock.now()
        end = self._next_end(start, limited=limited)
        self._pace.answered(begun, self._clock.now(), moved=end != start)
        return end

    def _wait_if_idle(self) -> None:
        seconds = self._pace.wait(self._clock.now())
        if seconds > 0:
            self._wait(seconds)

    def _next_end(self, start: Mapping[str, Any], *, limited: bool) -> JsonOffsets:
        begin = StreamOffset.from_json(start)
        self._commit(begin.offsets)
        latest = self._fetch_latest() if self._target is None else self._target
        known = _without(begin.offsets, recreated(begin.topic_ids, latest.topic_ids))
        ends = self._without_way_back(known, latest.offsets)
        end = self._admitted(known, ends) if limited else ends
        topic_ids = _of_topics({**begin.topic_ids, **latest.topic_ids}, end)
        if self._initial is not None and begin == self._initial:
            # Batch 0, which Spark runs and logs even if it is empty.
            return StreamOffset(end, begin.offsets, topic_ids).to_json()
        return dict(start) if end == known else StreamOffset(end, None, topic_ids).to_json()

    def report_latest(self) -> JsonOffsets | None:
        """Return the ends of the partitions as last fetched; Spark shows the lag from them."""
        return None if self._latest is None else StreamOffset(self._latest.offsets).to_json()

    def prepare_available_now(self) -> None:
        """Fix the current ends as the end of the query."""
        self._target = self._fetch_latest()

    def partitions(
        self, start: Mapping[str, Any], end: Mapping[str, Any]
    ) -> list[tuple[OffsetRange, ...]]:
        """Return the ranges of each task of a micro-batch.

        Raises :class:`DataLossError` when records of it are gone and ``failOnDataLoss`` is on.
        """
        begin, last = StreamOffset.from_json(start), StreamOffset.from_json(end)
        first = last.start if last.start is not None else begin.offsets
        # A topic created again before this batch was planned is read from its beginning. Of one
        # created again since then, the planned offsets are gone.
        before = recreated(begin.topic_ids, last.topic_ids)
        since = recreated(last.topic_ids, self._cluster.topic_ids(fresh=True))
        first, until = _without(first, before | since), _without(last.offsets, since)
        plan = plan_ranges(first, until, self._cluster.log_start(until))
        losses = tuple(RECREATED.format(topic) for topic in sorted(before | since))
        report_losses(losses + plan.losses, fail=self._options.fail_on_data_loss)
        return tasks_of(plan.ranges, self._options, self._parallelism)

    def close(self) -> None:
        """Free the connections."""
        self._cluster.close()

    def _resolve_initial(self) -> StreamOffset:
        options, cluster = self._options, self._cluster
        initial: OffsetMap = resolve(options.starting, cluster.partitions(), cluster)
        if options.starting.offsets is not None:
            fail = options.fail_on_data_loss
            initial = reachable(initial, "startingOffsets", cluster, fail=fail)
        return StreamOffset(initial, None, _of_topics(cluster.topic_ids(), initial))

    def _commit(self, done: OffsetMap) -> None:
        """Commit for the group of ``commitOffsetsToGroup`` how far the query is.

        Spark asks for the next batch with the end of the last one, which is done by then. Its own
        ``commit`` comes a batch later, and never for the last batch of a run.
        """
        group_id = self._options.commit_to_group
        if group_id is None or done == self._committed:
            return
        self._committed = done
        try:
            self._cluster.commit(group_id, done)
        except ReadError as error:
            log.warning("Group %s does not show how far the query is: %s", group_id, error)

    def _fetch_latest(self) -> StreamOffset:
        offsets = self._cluster.latest(self._cluster.partitions())
        self._latest = StreamOffset(offsets, None, self._cluster.topic_ids())
        return self._latest

    def _without_way_back(self, start: OffsetMap, latest: OffsetMap) -> OffsetMap:
        """Return the ends, but none before ``start`` where records are read committed from now on.

        A query that has read uncommitted records is beyond an open transaction. It must not read
        them twice; it goes on once the transaction has ended.
        """
        ahead = [one for one, end in latest.items() if end < start.get(one, end)]
        if not ahead:
            return latest
        written = self._cluster.written(ahead)
        return {
            **latest,
            **{one: start[one] for one in ahead if start[one] <= written.get(one, -1)},
        }

    def _admitted(self, start: OffsetMap, latest: OffsetMap) -> OffsetMap:
        new = latest.keys() - start.keys()
        log_start = self._cluster.log_start(new) if new else {}
        admission = self._admission
        if self._target is not None:
            # minOffsetsPerTrigger would wait for ever: nothing beyond the target is read.
            admission = Admission(max_offsets=admission.max_offsets)
        return admission.admit(self._clock.time_ms(), start, latest, log_start)


def recreated(before: Mapping[str, str], now: Mapping[str, str]) -> frozenset[str]:
    """Return the topics whose id has changed, since they were deleted and created again."""
    return frozenset(topic for topic in before if now.get(topic, before[topic]) != before[topic])


def _without(offsets: OffsetMap, topics: frozenset[str]) -> OffsetMap:
    return {one: offset for one, offset in offsets.items() if one.topic not in topics}


def _of_topics(topic_ids: Mapping[str, str], offsets: OffsetMap) -> dict[str, str]:
    topics = {partition.topic for partition in offsets}
    return {topic: topic_id for topic, topic_id in topic_ids.items() if topic in topics}


def report_losses(losses: tuple[str, ...], *, fail: bool) -> None:
    """Raise :class:`DataLossError` with all losses if ``fail``; log each of them otherwise."""
    if losses and fail:
        raise DataLossError("; ".join(losses) + DATA_LOSS_HINT)
    for loss in losses:
        log.warning(LOSS_WARNING, loss)


def tasks_of(
    ranges: tuple[OffsetRange, ...], options: SourceOptions, parallelism: int
) -> list[tuple[OffsetRange, ...]]:
    """Return the ranges of each Spark task, split and joined as the options say."""
    return plan_tasks(
        ranges,
        min_tasks=options.min_partitions,
        max_records=options.max_records_per_partition,
        min_records=options.min_records_per_partition,
        parallelism=parallelism,
    )
