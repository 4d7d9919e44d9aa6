"""In which data directory each log of a broker is, and where new ones go.

A new log goes to the directory that has the fewest, unless an administrator has asked for another.
A log whose directory has failed is *lost*: its partition is offline until the broker is restarted,
and no empty log takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from uuid import UUID

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.config.log_dirs_config import ALL
from pyk.reference_broker.storage.errors import StorageError
from pyk.reference_broker.storage.log_directory import LogDirectory

IsKnown = Callable[[TopicPartition, UUID | None], bool]


class LogHomes:
    """The directories of logs. ``directories`` take new ones; the metadata log is not counted.

    ``directory_ids`` are their ids. ``cordoned`` are the paths of those that take new logs only
    where there is no other (KIP-1066).
    """

    def __init__(
        self, directories: Iterable[LogDirectory], metadata_directory: LogDirectory
    ) -> None:
        """Raise ``StorageError`` if two directories have a log of the same partition."""
        self.directories = list(directories)
        self.cordoned: frozenset[str] = frozenset()
        self._metadata_directory = metadata_directory
        self._homes: dict[TopicPartition, LogDirectory] = {}
        self._counts = dict.fromkeys(self.directories, 0)
        self._preferred: dict[TopicPartition, LogDirectory] = {}
        self._lost: set[TopicPartition] = set()
        self.directory_ids = frozenset(each.directory_id for each in self.directories)
        self._rivals: dict[TopicPartition, list[LogDirectory]] = {}
        for directory in dict.fromkeys((metadata_directory, *self.directories)):
            for partition in sorted(directory.names.unopened):
                if partition in self._homes:
                    self._add_rival(partition, directory)
                else:
                    self.add(partition, directory)
        self._unfinished = {
            partition: directory
            for directory in self.directories
            for partition in directory.futures.unfinished
        }

    def _add_rival(self, partition: TopicPartition, directory: LogDirectory) -> None:
        """Take in another log of one name; raise ``StorageError`` if nothing tells which counts.

        They are of several topics, or one of them was replaced by the other.
        """
        rivals = self._rivals.get(partition, [self._homes[partition]])
        try:
            same = next((e for e in rivals if not _differ(partition, e, directory)), None)
            if same is None:
                self._rivals[partition] = [*rivals, directory]
                return
            replaced = _replaced(partition, same, directory)
            replaced.delete(partition)
        except OSError as error:
            raise StorageError(f"cannot tell the logs of {partition} apart: {error}") from error
        if replaced is same:
            rivals[rivals.index(same)] = directory
            self.add(partition, directory)

    def take_unfinished(self, partition: TopicPartition) -> LogDirectory | None:
        """Return, once, where a log was on its way to when the broker ended."""
        return self._unfinished.pop(partition, None)

    def is_unfinished(self, partition: TopicPartition) -> bool:
        """Return whether a log was on its way to another directory when the broker ended."""
        return partition in self._unfinished

    def cordon(self, paths: Collection[str]) -> None:
        """Let these take no new logs; ``*`` stands for all. Unknown ones are ignored."""
        known = frozenset(each.path for each in self.directories)
        self.cordoned = known if ALL in paths else known.intersection(paths)

    @property
    def cordoned_ids(self) -> frozenset[UUID]:
        """The ids of the directories that take no new logs."""
        return frozenset(e.directory_id for e in self.directories if e.path in self.cordoned)

    def at(self, path: str) -> LogDirectory | None:
        """Return the directory at a path, None if there is none that can be used."""
        return next((each for each in self.directories if each.path == path), None)

    def of(self, partition: TopicPartition) -> LogDirectory | None:
        """Return the directory that has the log of a partition, None if there is no log."""
        return self._homes.get(partition)

    def place(self, partition: TopicPartition) -> LogDirectory:
        """Return the directory for the log of a partition: where it is, or where it should go.

        Raises ``StorageError`` if there is no directory left.
        """
        home = self._homes.get(partition) or self._preferred.get(partition)
        if home is not None:
            return home
        if not self.directories:
            raise StorageError(f"there is no data directory left for {partition}")
        open_ones = [each for each in self.directories if each.path not in self.cordoned]
        return min(open_ones or self.directories, key=self._counts.__getitem__)

    def add(self, partition: TopicPartition, directory: LogDirectory) -> None:
        """Note that a log is in a directory."""
        self.remove(partition)
        self._homes[partition] = directory
        self._preferred.pop(partition, None)
        if directory in self._counts:
            self._counts[directory] += 1

    def remove(self, partition: TopicPartition) -> None:
        """Note that a partition has no log any more."""
        self._lost.discard(partition)
        directory = self._homes.pop(partition, None)
        if directory in self._counts:
            self._counts[directory] -= 1

    def add_metadata_log(self, partition: TopicPartition) -> LogDirectory:
        """Return the directory of the metadata log; raise ``StorageError`` if it is elsewhere."""
        home = self._homes.get(partition)
        if home is not None and home is not self._metadata_directory:
            raise StorageError(
                f"{home.path} has the metadata log, but metadata.log.dir is "
                f"{self._metadata_directory.path}: name the directory that has the log, or move it"
            )
        self.remove(partition)
        return self._metadata_directory

    def prefer(self, partition: TopicPartition, directory: LogDirectory) -> None:
        """Let the log of a partition begin in a directory, if it is created later."""
        self._preferred[partition] = directory

    def set_rivals_aside(self, is_known: IsKnown) -> None:
        """Keep those logs whose topic exists, where directories have logs of several topics.

        A topic was deleted while its directory was offline, and another has its name since. Raises
        ``OSError``.
        """
        for partition, directories in self._rivals.items():
            self.remove(partition)
            for directory in directories:
                if is_known(partition, directory.names.topic_id(partition)):
                    self.add(partition, directory)
                else:
                    directory.names.set_aside(partition)
        self._rivals.clear()

    def is_lost(self, partition: TopicPartition) -> bool:
        """Return whether the log of a partition was in a directory that has failed since."""
        return partition in self._lost

    def take_offline(self, directory: LogDirectory) -> list[TopicPartition]:
        """Use a directory no more; return the partitions that had their logs there."""
        self.directories.remove(directory)
        self.directory_ids -= {directory.directory_id}
        del self._counts[directory]
        lost = [name for name, home in self._homes.items() if home is directory]
        for partition in lost:
            del self._homes[partition]
        self._lost.update(lost)
        self._preferred = {
            name: home for name, home in self._preferred.items() if home is not directory
        }
        return lost


def _differ(partition: TopicPartition, first: LogDirectory, second: LogDirectory) -> bool:
    """Return whether two logs of one name are of two topics."""
    one, two = first.names.topic_id(partition), second.names.topic_id(partition)
    return None not in (one, two) and one != two


def _replaced(partition: TopicPartition, first: LogDirectory, second: LogDirectory) -> LogDirectory:
    """Return the directory whose log was replaced by the other one's; raise if nothing says so."""
    one, two = first.generation(partition), second.generation(partition)
    if one == two:
        raise StorageError(
            f"{first.path} and {second.path} both have a log of {partition}: a copy was made by "
            "hand, or a directory failed while the partition moved. Remove one of the two, and "
            "best the one whose disk has failed recently"
        )
    return first if one < two else second
