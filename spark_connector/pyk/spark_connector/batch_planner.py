"""The plan of a batch read: from where to where, and who reads what."""

from __future__ import annotations

from pyk.spark_connector.options import SourceOptions
from pyk.spark_connector.planning import OffsetRange, plan_ranges
from pyk.spark_connector.resolving import Cluster, resolve
from pyk.spark_connector.stream_planner import report_losses, tasks_of


def plan_batch(options: SourceOptions, cluster: Cluster) -> list[tuple[OffsetRange, ...]]:
    """Return the ranges of each task.

    Raises :class:`~pyk.spark_connector.errors.DataLossError` when offsets that the options name are
    gone, or not there yet, and ``failOnDataLoss`` is on.
    """
    partitions = cluster.partitions()
    start = resolve(options.starting, partitions, cluster)
    end = resolve(options.ending, partitions, cluster)
    latest = cluster.latest(partitions) if options.ending.offsets else end
    missing = tuple(
        f"{one} ends at offset {latest[one]}, before the {end[one]} of endingOffsets"
        for one in sorted(end)
        if one in latest and latest[one] < end[one]
    )
    reachable = {one: min(end[one], latest.get(one, end[one])) for one in end}
    plan = plan_ranges(start, reachable, cluster.log_start(partitions))
    report_losses(plan.losses + missing, fail=options.fail_on_data_loss)
    return tasks_of(plan.ranges, options)
