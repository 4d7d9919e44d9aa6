"""From what an option says about offsets to offsets. Asks a :class:`Cluster`, decides itself."""

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
    """What planning needs to know of the cluster.

    Every call raises :class:`~pyk.spark_connector.errors.ReadError` when the answer cannot be had.
    """

    def partitions(self) -> frozenset[TopicPartition]:
        """Return the partitions that the query reads, as they are now."""

    def topic_ids(self, *, fresh: bool = False) -> Mapping[str, str]:
        """Return the id of each topic that is read, as seen with the partitions or asked for now.

        A topic whose id the cluster does not tell is left out.
        """

    def log_start(self, partitions: Collection[TopicPartition]) -> OffsetMap:
        """Return the first offset of each partition; one that does not exist is left out."""

    def latest(self, partitions: Collection[TopicPartition]) -> OffsetMap:
        """Return the end of each partition, or its last stable offset for ``read_committed``."""

    def at_times(self, timestamps_ms: OffsetMap) -> Mapping[TopicPartition, int | None]:
        """Return the first offset at or behind a time, None where no record is that new."""

    def commit(self, group_id: str, offsets: OffsetMap) -> None:
        """Let a group without members stand at these offsets."""

    def close(self) -> None:
        """Free the connections."""


def resolve(
    limit: OffsetLimit, partitions: Collection[TopicPartition], cluster: Cluster
) -> dict[TopicPartition, int]:
    """Return the offset that a limit means for each of the partitions.

    Raises :class:`OptionError` when the limit names other partitions than these, or a starting
    time that no record has reached.
    """
    symbolic = _symbolic(limit, partitions, cluster)
    latest = cluster.latest([one for one, offset in symbolic.items() if offset == LATEST])
    earliest = cluster.log_start([one for one, offset in symbolic.items() if offset == EARLIEST])
    return {one: latest.get(one, earliest.get(one, symbolic[one])) for one in symbolic}


def reachable(offsets: OffsetMap, option: str, cluster: Cluster, *, fail: bool) -> OffsetMap:
    """Return offsets that an option names, none beyond the end of its partition.

    An offset beyond the end is no loss, since nobody has written that record yet: it raises
    :class:`OptionError`, or is logged and becomes the end unless ``fail``.
    """
    ends = cluster.latest(offsets.keys())
    beyond = "; ".join(
        f"{one} ends at offset {ends[one]}, before the {offsets[one]} of {option}"
        for one in sorted(offsets)
        if ends.get(one, offsets[one]) < offsets[one]
    )
    if beyond and fail:
        raise OptionError(f"{beyond}; -1 stands for the end as it is now")
    if beyond:
        log.warning("Reading only what is there, since failOnDataLoss is false: %s", beyond)
    return {one: min(offset, ends.get(one, offset)) for one, offset in offsets.items()}


def _symbolic(
    limit: OffsetLimit, partitions: Collection[TopicPartition], cluster: Cluster
) -> OffsetMap:
    """Return the offsets, some of which are still ``LATEST`` or ``EARLIEST``."""
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
                    f"{partition} has no record at or behind {timestamps_ms[partition]} ms; "
                    "startingOffsetsByTimestampStrategy=latest starts at its end then"
                )
    return {one: LATEST if offset is None else offset for one, offset in found.items()}
