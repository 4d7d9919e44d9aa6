"""The broker configurations of the directories that logs are in."""

from __future__ import annotations

from collections.abc import Collection

from pyk.reference_broker.config.definition import (
    UpdateMode,
    long,
    optional_strings,
    string,
    strings,
)
from pyk.reference_broker.config.errors import InvalidConfigError
from pyk.reference_broker.config.log_config import MAX_INT64
from pyk.reference_broker.config.metadata_log_config import MetadataLogConfig
from pyk.runtime import slotted

CORDONED = "cordoned.log.dirs"
ALL = "*"


def check_cordoned(cordoned: Collection[str], log_dirs: Collection[str]) -> None:
    """Raise ``InvalidConfigError`` if ``cordoned.log.dirs`` names none of the data directories."""
    missing = sorted(set(cordoned).difference((*log_dirs, ALL)))
    if ALL in cordoned and len(set(cordoned)) > 1:
        text = f"When {CORDONED} is set to {ALL}, it must not contain other values"
    elif missing:
        text = (
            f"All entries in {CORDONED} must be present in log.dirs or log.dir. "
            f"Missing entries : {', '.join(missing)}"
        )
    else:
        return
    raise InvalidConfigError(text, name=CORDONED)


@slotted.frozen(kw_only=True)
class LogDirsConfig(MetadataLogConfig):
    """The configurations of log directories, a part of those of a broker."""

    log_dirs: tuple[str, ...] | None = optional_strings(doc="The data directories.")
    metadata_log_dir: str | None = string(
        None, doc="The directory of the metadata log, by default the first data directory."
    )
    cordoned_log_dirs: tuple[str, ...] = strings(
        update_mode=UpdateMode.PER_BROKER,
        doc="The data directories that take no new partitions (KIP-1066); * means all.",
    )
    # Kafka does not describe it where it is not set.
    replica_alter_log_dirs_io_max_bytes_per_second: int = long(
        MAX_INT64,
        minimum=1,
        update_mode=UpdateMode.CLUSTER_WIDE,
        is_internal=True,
        doc="How fast logs move between the data directories.",
    )
