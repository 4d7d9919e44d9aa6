"""The data directory of a broker: its owner, and the logs in it."""

from __future__ import annotations

import logging
import posixpath
import re
from typing import TYPE_CHECKING
from uuid import UUID

from pyk.protocol.topics import TOPIC_NAME, TopicPartition
from pyk.reference_broker.storage.errors import FailedDirectoryError, StorageError
from pyk.reference_broker.storage.meta_properties import (
    MetaProperties,
    mark_clean_shutdown,
    read_meta_properties,
    take_clean_shutdown,
    write_meta_properties,
)
from pyk.reference_broker.storage.partition_metadata import decode_id, encode_id
from pyk.reference_broker.storage.watched_filesystem import WatchedFileSystem
from pyk.runtime import slotted
from pyk.runtime.filesystem.interface import DirectoryLockedError, FileSystem, Lock

if TYPE_CHECKING:
    from random import Random

log = logging.getLogger(__name__)

LOCK_FILE = ".lock"
TIERED_STORAGE_CACHE = "remote-log-index-cache"
DELETE_SUFFIX = "-delete"
STRAY_SUFFIX = "-stray"
FUTURE_SUFFIX = "-future"

_MAX_NAME_LENGTH = 255
_LOG_DIRECTORY = re.compile(rf"({TOPIC_NAME})-(0|[1-9][0-9]{{0,9}})")
_FUTURE_DIRECTORY = re.compile(rf"{_LOG_DIRECTORY.pattern}\.[0-9a-f]{{32}}{FUTURE_SUFFIX}")


@slotted.define
class DataDirectory:
    """A data directory that is locked for one broker. ``close`` unlocks it."""

    filesystem: WatchedFileSystem
    path: str
    properties: MetaProperties
    was_shut_down_cleanly: bool
    previous_broker_epoch: int | None
    _lock: Lock

    @classmethod
    def open(
        cls,
        filesystem: WatchedFileSystem,
        path: str,
        *,
        node_id: int,
        cluster_id: str | None,
        random: Random,
    ) -> DataDirectory:
        """Lock the directory for this node, and make it if it does not exist.

        ``cluster_id`` None takes that of the directory, or makes a new one. Raises ``StorageError``
        if the directory is in use or belongs to another node or cluster, ``FailedDirectoryError``
        if it cannot be used.
        """
        try:
            _make_directories(filesystem, path)
            lock = filesystem.lock(f"{path}/{LOCK_FILE}")
            try:
                properties = _properties(filesystem, path, node_id, cluster_id, random)
                broker_epoch = take_clean_shutdown(filesystem, path)
            except BaseException:
                lock.release()
                raise
        except OSError as error:
            raise unusable(path, error) from error
        return cls(filesystem, path, properties, broker_epoch is not None, broker_epoch, lock)

    @property
    def id(self) -> UUID:
        """The id of the directory, by which the metadata log calls it."""
        return decode_id(self.properties.directory_id)

    def path_of(self, partition: TopicPartition) -> str:
        """Return the directory of a log."""
        return f"{self.path}/{partition}"

    def partitions(self) -> list[TopicPartition]:
        """Return the partitions that have a log here."""
        found = []
        for name in self.filesystem.list_directory(self.path):
            match = _LOG_DIRECTORY.fullmatch(name)
            if match and self.filesystem.is_directory(f"{self.path}/{name}"):
                found.append(TopicPartition(match[1], int(match[2])))
        return found

    def take_copies(self) -> set[TopicPartition]:
        """Remove the copies of logs that were on their way here; return their partitions."""
        found = set()
        for name in self.filesystem.list_directory(self.path):
            match = _FUTURE_DIRECTORY.fullmatch(name)
            if match:
                self.filesystem.remove_tree(f"{self.path}/{name}")
                found.add(TopicPartition(match[1], int(match[2])))
        return found

    def path_of_copy(self, partition: TopicPartition, unique_id: UUID) -> str:
        """Return the directory for a copy of a log that is on its way here."""
        return f"{self.path_of(partition)}.{unique_id.hex}{FUTURE_SUFFIX}"

    def rename(self, partition: TopicPartition, unique_id: UUID, suffix: str) -> str:
        """Rename a log, so that a new one can have its name; return its new path.

        Not synced: after a power failure the log may have its old name again, and the id of its
        topic tells that it is not the new one.
        """
        suffix = f".{unique_id.hex}{suffix}"
        name = str(partition)[: _MAX_NAME_LENGTH - len(suffix)] + suffix
        target = f"{self.path}/{name}"
        self.filesystem.rename(self.path_of(partition), target)
        return target

    def set_aside(self, partition: TopicPartition, unique_id: UUID) -> None:
        """Rename a log of an unknown topic, and log where it is; raise ``OSError``."""
        _warn_of_stray(self.rename(partition, unique_id, STRAY_SUFFIX))

    def name_strays(self) -> None:
        """Log the paths of the logs that were set aside, and of directories that are no logs."""
        for name in self.filesystem.list_directory(self.path):
            path = f"{self.path}/{name}"
            if name.endswith(STRAY_SUFFIX):
                _warn_of_stray(path)
            elif _is_foreign(name) and self.filesystem.is_directory(path):
                log.warning("%s is no log and is not used; Apache Kafka would not start", path)

    def remove_deleted(self) -> None:
        """Remove the logs whose deletion a stop interrupted."""
        for name in self.filesystem.list_directory(self.path):
            if name.endswith(DELETE_SUFFIX):
                self.filesystem.remove_tree(f"{self.path}/{name}")

    def close(self, broker_epoch: int | None) -> None:
        """Unlock the directory; with a broker epoch, mark that everything in it was written."""
        try:
            if broker_epoch is not None:
                mark_clean_shutdown(self.filesystem, self.path, broker_epoch)
        finally:
            self._lock.release()


def unusable(path: str, error: OSError) -> StorageError:
    """Return the error for a data directory in which the operating system refuses something."""
    is_locked = isinstance(error, DirectoryLockedError)
    kind = StorageError if is_locked else FailedDirectoryError
    return kind(f"cannot use data directory {path}: {error}")


def _is_foreign(name: str) -> bool:
    """Return whether a directory has neither the name of a log nor one that brokers give."""
    has_known_name = name.endswith((DELETE_SUFFIX, FUTURE_SUFFIX)) or name == TIERED_STORAGE_CACHE
    return not has_known_name and _LOG_DIRECTORY.fullmatch(name) is None


def _warn_of_stray(path: str) -> None:
    log.warning(
        "%s belongs to no topic that the metadata knows. It is not used; remove it if its records "
        "are not needed",
        path,
    )


def _make_directories(filesystem: FileSystem, path: str) -> None:
    """Make a directory and those above it that are missing, each durably."""
    if not path or filesystem.exists(path):
        return
    above = posixpath.dirname(path)
    if above != path:
        _make_directories(filesystem, above)
    filesystem.make_directory(path)
    filesystem.sync_directory(above)


def may_move(partition: TopicPartition) -> bool:
    """Return whether the name of a copy of this log is not too long (KAFKA-4893)."""
    return len(f"{partition}.{UUID(int=0).hex}{FUTURE_SUFFIX}") <= _MAX_NAME_LENGTH


def random_id(random: Random) -> str:
    """Return a new random id as Kafka writes them."""
    while True:
        text = encode_id(UUID(int=random.getrandbits(128), version=4))
        if not text.startswith("-"):  # it would look like an option on a command line
            return text


def _properties(
    filesystem: FileSystem, path: str, node_id: int, cluster_id: str | None, random: Random
) -> MetaProperties:
    found = read_meta_properties(filesystem, path)
    known = found
    if found is None:
        found = MetaProperties(cluster_id or random_id(random), node_id, random_id(random))
    elif not found.directory_id:
        found = found._replace(directory_id=random_id(random))  # Kafka before 3.7 gave it none
    if found.node_id != node_id:
        raise StorageError(f"data directory {path} belongs to node {found.node_id}, not {node_id}")
    if cluster_id is not None and found.cluster_id != cluster_id:
        raise StorageError(
            f"data directory {path} belongs to cluster {found.cluster_id}, not {cluster_id}"
        )
    if known != found:
        write_meta_properties(filesystem, path, found)
    return found
