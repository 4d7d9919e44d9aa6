"""The topic configurations: what one log does with its records.

Defaults, ranges and names are those of Apache Kafka 4.3. Each names the broker configuration that
is its default.
"""

from __future__ import annotations

from typing import Any

from pyk.reference_broker.config.definition import (
    Fallback,
    boolean,
    double,
    integer,
    long,
    string,
    strings,
)
from pyk.reference_broker.config.without_effect import TopicConfigWithoutEffect
from pyk.runtime import slotted

MAX_INT64 = (1 << 63) - 1
DAY_MS = 24 * 60 * 60 * 1000

COMPRESSION_TYPES = ("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd")
TIMESTAMP_TYPES = ("CreateTime", "LogAppendTime")


def is_retention(text: str) -> bool:
    """Return whether a time is one that brokers keep records for; with 0 they would keep none."""
    return int(text) != 0


def is_gzip_level(level: str) -> bool:
    """Return whether records may be compressed at a level: 0 would not compress them."""
    return level != "0"


def _broker(name: str) -> dict[str, Any]:
    return {"fallbacks": (Fallback(name=name),)}


@slotted.frozen(kw_only=True)
class LogConfig(TopicConfigWithoutEffect):
    """The effective configuration of one topic."""

    cleanup_policy: tuple[str, ...] = strings(
        "delete",
        choices=("delete", "compact"),
        doc="What happens to old segments: delete drops them by time and size, compact keeps the "
        "last record of each key.",
        **_broker("log.cleanup.policy"),
    )
    compression_gzip_level: int = integer(
        -1,
        minimum=-1,
        maximum=9,
        check=is_gzip_level,
        doc="The gzip level when the broker compresses, 1 to 9; -1 is the codec's own.",
        **_broker("compression.gzip.level"),
    )
    compression_lz4_level: int = integer(
        9,
        minimum=1,
        maximum=17,
        doc="The lz4 level when the broker compresses.",
        **_broker("compression.lz4.level"),
    )
    compression_type: str = string(
        "producer",
        choices=COMPRESSION_TYPES,
        doc="The codec records are stored with; producer keeps what the producer chose.",
        **_broker("compression.type"),
    )
    compression_zstd_level: int = integer(
        3,
        minimum=-131072,
        maximum=22,
        doc="The zstd level when the broker compresses.",
        **_broker("compression.zstd.level"),
    )
    delete_retention_ms: int = long(
        DAY_MS,
        minimum=0,
        doc="How long a tombstone stays in a compacted topic.",
        **_broker("log.cleaner.delete.retention.ms"),
    )
    file_delete_delay_ms: int = long(
        60_000,
        minimum=0,
        doc="How long the files of a deleted segment stay, so that readers can finish.",
        **_broker("log.segment.delete.delay.ms"),
    )
    flush_messages: int = long(
        MAX_INT64,
        minimum=1,
        doc="After how many records the log is forced to the disk.",
        **_broker("log.flush.interval.messages"),
    )
    flush_ms: int = long(
        MAX_INT64,
        minimum=0,
        doc="After how long records are forced to the disk.",
        **_broker("log.flush.interval.ms"),
    )
    index_interval_bytes: int = integer(
        4096,
        minimum=0,
        doc="How many bytes of records lie between two entries of the offset index.",
        **_broker("log.index.interval.bytes"),
    )
    internal_segment_bytes: int | None = integer(
        None,
        is_internal=True,
        doc="A segment size below the smallest that segment.bytes allows, for tests.",
    )
    max_compaction_lag_ms: int = long(
        MAX_INT64,
        minimum=1,
        doc="The longest time that a record may stay uncompacted.",
        **_broker("log.cleaner.max.compaction.lag.ms"),
    )
    max_message_bytes: int = integer(
        1_048_588,
        minimum=0,
        doc="The largest record batch that is accepted, compressed, header included.",
        **_broker("message.max.bytes"),
    )
    message_timestamp_after_max_ms: int = long(
        3_600_000,
        minimum=0,
        doc="How far a producer's timestamp may lie ahead of the broker's clock.",
        **_broker("log.message.timestamp.after.max.ms"),
    )
    message_timestamp_before_max_ms: int = long(
        MAX_INT64,
        minimum=0,
        doc="How far a producer's timestamp may lie behind the broker's clock.",
        **_broker("log.message.timestamp.before.max.ms"),
    )
    message_timestamp_type: str = string(
        "CreateTime",
        choices=TIMESTAMP_TYPES,
        doc="Whose clock stamps records: CreateTime the producer's, LogAppendTime the broker's.",
        **_broker("log.message.timestamp.type"),
    )
    min_cleanable_dirty_ratio: float = double(
        0.5,
        minimum=0,
        maximum=1,
        doc="Which part of a compacted log must be uncompacted before it is compacted again.",
        **_broker("log.cleaner.min.cleanable.ratio"),
    )
    min_compaction_lag_ms: int = long(
        0,
        minimum=0,
        doc="The shortest time that a record stays uncompacted.",
        **_broker("log.cleaner.min.compaction.lag.ms"),
    )
    min_insync_replicas: int = integer(
        1,
        minimum=1,
        doc="How many replicas must be in sync for a write with acks=all.",
        **_broker("min.insync.replicas"),
    )
    preallocate: bool = boolean(
        False,
        doc="Whether a new segment takes its whole size on the disk at once.",
        **_broker("log.preallocate"),
    )
    retention_bytes: int = long(
        -1,
        doc="The size of a log above which its oldest segments are deleted; -1 means no limit.",
        **_broker("log.retention.bytes"),
    )
    retention_ms: int = long(
        7 * DAY_MS,
        minimum=-1,
        doc="After how long a segment is deleted; -1 means never.",
        **_broker("log.retention.ms"),
    )
    segment_bytes: int = integer(
        1 << 30,
        minimum=1 << 20,
        doc="The size at which a new segment is begun.",
        **_broker("log.segment.bytes"),
    )
    segment_index_bytes: int = integer(
        10 << 20,
        minimum=4,
        doc="The size of an index at which a new segment is begun.",
        **_broker("log.index.size.max.bytes"),
    )
    segment_jitter_ms: int = long(
        0,
        minimum=0,
        doc="How much earlier than segment.ms a segment may end, at random, so that not all logs "
        "begin one at the same time.",
        **_broker("log.roll.jitter.ms"),
    )
    segment_ms: int = long(
        7 * DAY_MS,
        minimum=1,
        doc="The age at which a new segment is begun even if the old one is not full.",
        **_broker("log.roll.ms"),
    )
    unclean_leader_election_enable: bool = boolean(
        False,
        doc="Whether a replica that is not in sync may become leader, at the price of records.",
        **_broker("unclean.leader.election.enable"),
    )

    @property
    def is_compacted(self) -> bool:
        """Whether every record needs a key."""
        return "compact" in self.cleanup_policy

    @property
    def deletes_old_segments(self) -> bool:
        """Whether ``retention.ms`` and ``retention.bytes`` apply."""
        return "delete" in self.cleanup_policy

    @property
    def max_segment_bytes(self) -> int:
        """The size at which a new segment is begun."""
        if self.internal_segment_bytes is not None:
            return self.internal_segment_bytes
        return self.segment_bytes
