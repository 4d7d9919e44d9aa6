"""Resolve the limits that options set into offsets, with the help of a :class:`Cluster`."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Protocol

from pyk.clients.topic_partition import TopicPartition
from pyk.spark_connector.errors import OptionError
from pyk.spark_connector.offsets import EARLIEST, LATEST, OffsetMap, describe
from pyk.spark_connector.options import NoMatch, OffsetLimit

log = logging.getLogger(__name__)


class Cluster(Protocol):
    """The cluster, as planning sees it.

    Every call raises :class:`~pyk.spark_connector.errors.ReadError` if the cluster does not answer.
    """

    def partitions(self) -> frozenset[TopicPartition]:
        """Return the partitions that the query reads now."""

    def topic_ids(self, *, fresh: bool = False) -> Mapping[str, str]:
        """Return the id of each topic, as found with the partitions or, if ``fresh``, fetched now.

        A topic whose id the cluster does not return is left out.
        """

    def log_start(self, partitions: Collection[TopicPartition]) -> OffsetMap:
        """Return the first offset of each partition; one that does not exist is left out."""

    def latest(self, partitions: Collection[TopicPartition]) -> OffsetMap:
        """Return the end of each partition, or its last stable offset for ``read_committed``."""

    def written(self, partitions: Collection[TopicPartition]) -> OffsetMap:
        """Return the end of each partition, behind transactions that are open, too."""

    def at_times(self, timestamps_ms: OffsetMap) -> Mapping[TopicPartition, int | None]:
        """Return the first offset whose timestamp is not before a time, None if there is none."""

    def commit(self, group_id: str, offsets: OffsetMap) -> None:
        """Commit these offsets for a group without members."""

    def close(self) -> None:
        """Free the connections."""


def resolve(
    limit: OffsetLimit, partitions: Collection[TopicPartition], cluster: Cluster
) -> dict[TopicPartition, int]:
    """Return the offset that a limit means for each of the partitions.

    Raises :class:`OptionError` if the limit names other partitions than these, or a starting time
    later than every record.
    """
    symbolic = _symbolic(limit, partitions, cluster)
    latest = cluster.latest([one for one, offset in symbolic.items() if offset == LATEST])
    earliest = cluster.log_start([one for one, offset in symbolic.items() if offset == EARLIEST])
    return {one: latest.get(one, earliest.get(one, symbolic[one])) for one in symbolic}


def reachable(offsets: OffsetMap, option: str, cluster: Cluster, *, fail: bool) -> OffsetMap:
    """Return the offsets that an option names, limited to the ends of their partitions.

    An offset beyond the end is no data loss, since no such record was written yet: it raises
    :class:`OptionError` if ``fail``, and otherwise is logged and becomes the end.
    """
    ends = cluster.latest(offsets.keys())
    beyond = "; ".join(
        f"{one} ends at offset {ends[one]}, before the {offsets[one]} of {option}"
        for one in sorted(offsets)
        if ends.get(one, offsets[one]) < offsets[one]
    )
    if beyond and fail:
        raise OptionError(
            f"{beyond}; -1 means the current end, with read_committed that of the records in front "
            "of the first open transaction"
        )
    if beyond:
        log.warning("Reading up to the current end, since failOnDataLoss is false: %s", beyond)
    return {one: min(offset, ends.get(one, offset)) for one, offset in offsets.items()}


def _symbolic(
    limit: OffsetLimit, partitions: Collection[TopicPartition], cluster: Cluster
) -> OffsetMap:
    """Return the offsets; some of them may still be ``LATEST`` or ``EARLIEST``."""
    if limit.everywhere is not None:
        return dict.fromkeys(partitions, limit.everywhere)
    if limit.timestamp_ms is not None:
        return _at_times(dict.fromkeys(partitions, limit.timestamp_ms), limit, cluster)
    named = limit.offsets if limit.offsets is not None else limit.timestamps_ms or {}
    if named.keys() != set(partitions):
        raise OptionError(
            "offsets must be given for all partitions that are read (-1 is latest, -2 earliest): "
            f"given for {describe(named)}; there are {describe(partitions)}"
        )
    return named if limit.offsets is not None else _at_times(named, limit, cluster)


def _at_times(timestamps_ms: OffsetMap, limit: OffsetLimit, cluster: Cluster) -> OffsetMap:
    found = cluster.at_times(timestamps_ms)
    if limit.on_no_match is NoMatch.ERROR:
        for partition in sorted(found):
            if found[partition] is None:
                raise OptionError(
                    f"{partition} has no record with timestamp {timestamps_ms[partition]} ms or "
                    "later; set startingOffsetsByTimestampStrategy=latest to start at its end then"
                )
    return {one: LATEST if offset is None else offset for one, offset in found.items()}
