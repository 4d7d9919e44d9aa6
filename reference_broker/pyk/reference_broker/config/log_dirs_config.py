"""The broker configurations of the directories that logs are in."""

from __future__ import annotations

from pyk.reference_broker.config.definition import UpdateMode, long, optional_strings, string
from pyk.reference_broker.config.log_config import MAX_INT64
from pyk.reference_broker.config.metadata_log_config import MetadataLogConfig
from pyk.runtime import slotted


@slotted.frozen(kw_only=True)
class LogDirsConfig(MetadataLogConfig):
    """The configurations of log directories, a part of those of a broker."""

    log_dirs: tuple[str, ...] | None = optional_strings(doc="The data directories.")
    metadata_log_dir: str | None = string(
        None, doc="The directory of the metadata log, by default the first data directory."
    )
    # Kafka does not describe it where it is not set.
    replica_alter_log_dirs_io_max_bytes_per_second: int = long(
        MAX_INT64,
        minimum=1,
        update_mode=UpdateMode.CLUSTER_WIDE,
        is_internal=True,
        doc="How fast logs move between the data directories.",
    )
