"""The ``meta.properties`` and ``.kafka_cleanshutdown`` of a data directory."""

from __future__ import annotations

from typing import NamedTuple

from pyk.reference_broker.storage.errors import StorageError
from pyk.reference_broker.storage.partition_metadata import decode_id, encode_id
from pyk.runtime.filesystem.atomic_write import read_if_exists, write_atomically
from pyk.runtime.filesystem.interface import FileSystem

META_PROPERTIES_FILE = "meta.properties"
CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown"
UNKNOWN_BROKER_EPOCH = -1
RESERVED_IDS = 100
"""As in Kafka, no directory has one of the first ids: some have a meaning in the metadata."""


class MetaProperties(NamedTuple):
    """Which node of which cluster a data directory belongs to.

    ``directory_id`` is Kafka's text, empty where an older Kafka wrote none.
    """

    cluster_id: str
    node_id: int
    directory_id: str


def read_meta_properties(filesystem: FileSystem, directory: str) -> MetaProperties | None:
    """Return what the directory says, None if it is new; raise ``StorageError`` if damaged."""
    path = f"{directory}/{META_PROPERTIES_FILE}"
    content = read_if_exists(filesystem, path)
    if content is None:
        return None
    lines = [line.strip() for line in content.decode("utf-8", "replace").splitlines()]
    values = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    try:
        if values["version"] != "1":
            raise StorageError(f"{path} has version {values['version'][:20]!r}; use 1")
        directory_id = values.get("directory.id", "")
        if directory_id:
            decoded = decode_id(directory_id)
            if decoded.int < RESERVED_IDS:
                raise ValueError(f"directory.id {directory_id} is reserved")
            directory_id = encode_id(decoded)
        return MetaProperties(values["cluster.id"], int(values["node.id"]), directory_id)
    except KeyError as error:
        raise _damaged(path, f"it has no {error.args[0]}") from error
    except ValueError as error:
        raise _damaged(path, str(error)) from error


def _damaged(path: str, what: str) -> StorageError:
    return StorageError(
        f"{path} is damaged: {what}; restore it, or remove it to get a new one with new ids"
    )


def write_meta_properties(
    filesystem: FileSystem, directory: str, properties: MetaProperties
) -> None:
    """Write down which node and cluster the directory belongs to, durably."""
    content = (
        f"cluster.id={properties.cluster_id}\n"
        f"directory.id={properties.directory_id}\n"
        f"node.id={properties.node_id}\n"
        "version=1\n"
    )
    write_atomically(filesystem, f"{directory}/{META_PROPERTIES_FILE}", content.encode())


def take_clean_shutdown(filesystem: FileSystem, directory: str) -> int | None:
    """Return the broker epoch of a clean shutdown, None if the last stop was not clean.

    The mark is removed: from now on only another clean shutdown makes one.
    """
    path = f"{directory}/{CLEAN_SHUTDOWN_FILE}"
    content = read_if_exists(filesystem, path)
    if content is None:
        return None
    filesystem.remove(path)
    filesystem.sync_directory(directory)
    import json

    try:
        return int(json.loads(content)["brokerEpoch"])
    except (ValueError, KeyError, TypeError):
        return UNKNOWN_BROKER_EPOCH


def mark_clean_shutdown(filesystem: FileSystem, directory: str, broker_epoch: int) -> None:
    """Leave the mark that everything was written before the broker stopped (KIP-966)."""
    import json

    content = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
    write_atomically(filesystem, f"{directory}/{CLEAN_SHUTDOWN_FILE}", content.encode())
