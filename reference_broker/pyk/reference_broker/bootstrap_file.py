"""The ``bootstrap.checkpoint`` of a data directory: what its metadata log begins with.

Apache Kafka's ``kafka-storage format`` writes it. A data directory without one gets one at its
first start.
"""

from __future__ import annotations

from pyk.protocol.errors import ProtocolError
from pyk.protocol.schema import Message
from pyk.reference_broker.storage import StorageError
from pyk.runtime.filesystem.atomic_write import read_if_exists, write_atomically
from pyk.runtime.filesystem.interface import FileSystem

from .controller.bootstrap import default_bootstrap, levels_in, unsupported_features
from .controller.features import METADATA_VERSION
from .controller.records import MetadataRecord
from .controller.snapshot_format import (
    DamagedSnapshotError,
    SnapshotId,
    decode_snapshot,
    encode_snapshot,
)

BOOTSTRAP_FILE = "bootstrap.checkpoint"
_ID = SnapshotId(0, 0)


def read_or_write_bootstrap(filesystem: FileSystem, directory: str, time_ms: int) -> list[Message]:
    """Return the records in the file, those of a new cluster if there was none.

    Raises ``StorageError`` if the file is damaged, or asks for what this broker cannot run.
    """
    path = f"{directory}/{BOOTSTRAP_FILE}"
    try:
        content = read_if_exists(filesystem, path)
        if content is None:
            content = encode_snapshot(default_bootstrap(), _ID.epoch, 0, time_ms)
            write_atomically(filesystem, path, content)
    except OSError as error:
        raise StorageError(f"cannot use {path}: {error}") from error
    return _checked(path, _decoded(path, content))


def _decoded(path: str, content: bytes) -> list[Message]:
    try:
        records = decode_snapshot(_ID, content).records
        return [MetadataRecord.decode(key, value).message for key, value in records]
    except (DamagedSnapshotError, ProtocolError) as error:
        raise StorageError(
            f"{path} is damaged: {error}; format the data directory again"
        ) from error


def _checked(path: str, records: list[Message]) -> list[Message]:
    levels = levels_in(records)
    if METADATA_VERSION not in levels:
        raise StorageError(
            f"{path} says nothing of {METADATA_VERSION}; format the data directory again"
        )
    unsupported = unsupported_features(levels)
    if unsupported:
        raise StorageError(
            f"{path} asks for {', '.join(unsupported)}, which this broker cannot run"
        )
    return records
