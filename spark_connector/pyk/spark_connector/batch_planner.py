"""Plan a batch read: its start and end offsets, and the ranges of each task."""

from __future__ import annotations

from pyk.spark_connector.errors import OptionError
from pyk.spark_connector.offsets import OffsetMap
from pyk.spark_connector.options import SourceOptions
from pyk.spark_connector.planning import OffsetRange, plan_ranges
from pyk.spark_connector.resolving import Cluster, reachable, resolve
from pyk.spark_connector.stream_planner import report_losses, tasks_of


def plan_batch(
    options: SourceOptions, cluster: Cluster, parallelism: int = 1
) -> list[tuple[OffsetRange, ...]]:
    """Return the ranges of each task.

    Raises :class:`OptionError` for an invalid range: one that ends before it starts or, with
    ``failOnDataLoss``, one that ends beyond the end of its partition. Raises
    :class:`~pyk.spark_connector.errors.DataLossError` when offsets that the options name are gone
    and ``failOnDataLoss`` is on.
    """
    partitions = cluster.partitions()
    start = resolve(options.starting, partitions, cluster)
    end: OffsetMap = resolve(options.ending, partitions, cluster)
    if options.ending.offsets is not None:
        end = reachable(end, "endingOffsets", cluster, fail=options.fail_on_data_loss)
    _check_order(start, end)
    plan = plan_ranges(start, end, cluster.log_start(partitions))
    report_losses(plan.losses, fail=options.fail_on_data_loss)
    return tasks_of(plan.ranges, options, parallelism)


def _check_order(start: OffsetMap, end: OffsetMap) -> None:
    wrong = [
        f"{one} starts at offset {start[one]}, above its end at {end[one]}"
        for one in sorted(start)
        if one in end and end[one] < start[one]
    ]
    if wrong:
        raise OptionError("; ".join(wrong))
