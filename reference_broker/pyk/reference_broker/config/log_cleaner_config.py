"""The broker configurations of compaction, which Kafka calls log cleaner: ``log.cleaner.*``."""

from __future__ import annotations

import sys

from pyk.reference_broker.config.definition import (
    UpdateMode,
    boolean,
    double,
    integer,
    long,
)
from pyk.reference_broker.config.log_config import DAY_MS, MAX_INT64
from pyk.reference_broker.config.streams_config import StreamsConfig
from pyk.runtime import slotted

_DYNAMIC = UpdateMode.CLUSTER_WIDE


@slotted.frozen(kw_only=True)
class LogCleanerConfig(StreamsConfig):
    """The configurations of compaction, a part of those of a broker.

    A class with slots can have one base only, so the parts follow each other.
    """

    log_cleaner_backoff_ms: int = long(
        15_000,
        minimum=0,
        update_mode=_DYNAMIC,
        doc="How long to wait before looking again for logs to compact when there were none.",
    )
    log_cleaner_dedupe_buffer_size: int = long(
        134_217_728,
        update_mode=_DYNAMIC,
        doc="The memory for the keys of one pass, at 24 bytes for each, of all threads.",
    )
    log_cleaner_delete_retention_ms: int = long(
        DAY_MS,
        minimum=0,
        update_mode=_DYNAMIC,
        doc="The default of delete.retention.ms.",
    )
    log_cleaner_enable: bool = boolean(True, doc="Whether logs are compacted.")
    log_cleaner_io_buffer_load_factor: float = double(
        0.9, update_mode=_DYNAMIC, doc="Which part of the memory for keys is used."
    )
    log_cleaner_io_buffer_size: int = integer(
        524_288,
        minimum=0,
        update_mode=_DYNAMIC,
        doc="How many bytes are written at once.",
    )
    log_cleaner_io_max_bytes_per_second: float = double(
        sys.float_info.max,
        update_mode=_DYNAMIC,
        doc="How many bytes compaction may read and write in a second.",
    )
    log_cleaner_max_compaction_lag_ms: int = long(
        MAX_INT64,
        minimum=1,
        update_mode=_DYNAMIC,
        doc="The default of max.compaction.lag.ms.",
    )
    log_cleaner_min_cleanable_ratio: float = double(
        0.5,
        minimum=0,
        maximum=1,
        update_mode=_DYNAMIC,
        doc="The default of min.cleanable.dirty.ratio.",
    )
    log_cleaner_min_compaction_lag_ms: int = long(
        0,
        minimum=0,
        update_mode=_DYNAMIC,
        doc="The default of min.compaction.lag.ms.",
    )
    log_cleaner_threads: int = integer(
        1,
        minimum=0,
        update_mode=_DYNAMIC,
        doc="How many logs are compacted at once.",
    )
