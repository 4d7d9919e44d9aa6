"""The broker configurations of the metadata log and its snapshots: ``metadata.*``."""

from __future__ import annotations

from pyk.reference_broker.config.definition import integer, long
from pyk.reference_broker.config.log_cleaner_config import LogCleanerConfig
from pyk.reference_broker.config.log_config import DAY_MS
from pyk.runtime import slotted


@slotted.frozen(kw_only=True)
class MetadataLogConfig(LogCleanerConfig):
    """The configurations of ``__cluster_metadata``, a part of those of a broker."""

    metadata_log_max_record_bytes_between_snapshots: int = long(
        20 << 20,
        minimum=1,
        doc="A snapshot of the metadata is written after this many bytes of changes.",
    )
    metadata_log_max_snapshot_interval_ms: int = long(
        3_600_000,
        minimum=0,
        doc="A snapshot of changed metadata is written after this time at the latest; 0 is never.",
    )
    metadata_log_segment_bytes: int = integer(
        1 << 30, minimum=8 << 20, doc="How large a segment of the metadata log may become."
    )
    metadata_log_segment_ms: int = long(
        7 * DAY_MS, doc="After how long a segment of the metadata log is full."
    )
    metadata_max_retention_bytes: int = long(
        100 << 20,
        doc="How large the metadata log and its snapshots may become before the oldest snapshot "
        "and the log behind the next one are deleted; a negative number is no limit.",
    )
    metadata_max_retention_ms: int = long(
        7 * DAY_MS,
        doc="How long a snapshot of the metadata and the log behind the next one are kept; a "
        "negative number is for ever.",
    )
