"""The data directories of one broker: opened together, some of them perhaps on broken disks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from pyk.reference_broker.storage.data_directory import DataDirectory, unusable
from pyk.reference_broker.storage.errors import FailedDirectoryError, StorageError
from pyk.reference_broker.storage.meta_properties import read_meta_properties
from pyk.reference_broker.storage.watched_filesystem import WatchedFileSystem
from pyk.runtime import slotted
from pyk.runtime.filesystem.interface import FileSystem

if TYPE_CHECKING:
    from random import Random


METADATA_LOG = "__cluster_metadata-0"


@slotted.define
class DataDirectories:
    """The directories that could be locked, the one of the metadata log first.

    ``failed`` are the others, by path, with what is wrong with each.
    """

    opened: list[DataDirectory]
    failed: dict[str, FailedDirectoryError]

    def close(self) -> None:
        """Unlock them after a refused start, as clean as they were."""
        for each in self.opened:
            with suppress(OSError):
                each.close(each.previous_broker_epoch)


def open_data_directories(
    filesystem: FileSystem,
    metadata_path: str,
    log_dirs: Sequence[str],
    *,
    node_id: int,
    cluster_id: str | None,
    random: Random,
) -> DataDirectories:
    """Lock the directory of the metadata log and all of ``log_dirs`` for a node.

    A directory that the operating system refuses is left out, unless it is the one of the metadata
    log. Raises ``StorageError`` for that one, if none of ``log_dirs`` can be used, and if the
    directories do not belong to one node of one cluster.
    """
    if len(set(log_dirs)) < len(log_dirs):
        raise StorageError(f"a data directory is named twice in {', '.join(log_dirs)}")
    found = DataDirectories([], {})
    others = [path for path in log_dirs if path != metadata_path]
    try:
        _check_metadata_directory(filesystem, metadata_path, others)
        for path in (metadata_path, *others):
            vital_log = METADATA_LOG if path == metadata_path else ""
            used = WatchedFileSystem(filesystem, path, vital_log)
            try:
                opened = DataDirectory.open(
                    used, path, node_id=node_id, cluster_id=cluster_id, random=random
                )
            except FailedDirectoryError as error:
                if path == metadata_path:
                    raise
                found.failed[path] = error
                continue
            found.opened.append(opened)
            cluster_id = opened.properties.cluster_id
        _check_ids(found.opened)
        if len(found.failed) == len(log_dirs):
            raise none_usable(found.failed.values())
    except BaseException:
        found.close()
        raise
    return found


def none_usable(failures: Iterable[StorageError]) -> StorageError:
    """Return the error for a broker that has no directory for logs."""
    why = "; ".join(error.message for error in failures)
    return StorageError(f"none of the data directories can be used: {why}")


def _check_metadata_directory(
    filesystem: FileSystem, metadata_path: str, others: Sequence[str]
) -> None:
    """Raise if the metadata log is to begin in a new directory, though others are in use.

    Its disk may not be mounted; a new cluster would take the place of the one that there is.
    """
    try:
        if not others or read_meta_properties(filesystem, metadata_path) is not None:
            return
    except OSError as error:
        raise unusable(metadata_path, error) from error
    for path in others:
        try:
            known = read_meta_properties(filesystem, path)
        except OSError:
            continue  # it cannot be used either
        if known is not None:
            raise StorageError(
                f"{path} belongs to cluster {known.cluster_id}, but {metadata_path}, which has to "
                "have the metadata log of that cluster, is empty: restore it, or name the "
                "directory that has the log by metadata.log.dir"
            )


def _check_ids(directories: Sequence[DataDirectory]) -> None:
    paths: dict[str, str] = {}
    for each in directories:
        directory_id = each.properties.directory_id
        if directory_id in paths:
            raise StorageError(
                f"{paths[directory_id]} and {each.path} have the same directory.id, "
                f"{directory_id}, in meta.properties: one is a copy of the other; leave one out"
            )
        paths[directory_id] = each.path
