"""In which data directory each log of a broker is, and where new ones go.

A new log goes to the directory that has the fewest, unless an administrator has asked for another.
A log whose directory has failed is *lost*: its partition is offline until the broker is restarted,
and no empty log takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from uuid import UUID

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.config.log_dirs_config import ALL
from pyk.reference_broker.storage.errors import StorageError
from pyk.reference_broker.storage.log_directory import LogDirectory

IsKnown = Callable[[TopicPartition, UUID | None], bool]


class LostDirectoryError(Exception):
    """One of the directories has failed; the others may be used without it."""

    def __init__(self, directory: LogDirectory, error: OSError) -> None:
        super().__init__(f"{directory.path}: {error}")
        self.directory = directory
        self.error = error


class LogHomes:
    """The directories of logs. ``directories`` take new ones; the metadata log is not counted.

    ``directory_ids`` are their ids. ``cordoned`` are the paths of those that take new logs only
    where there is no other (KIP-1066).
    """

    def __init__(
        self, directories: Iterable[LogDirectory], metadata_directory: LogDirectory
    ) -> None:
        """Find the logs; ``settle`` tells which of several of one name counts."""
        self.directories = list(directories)
        self.cordoned: frozenset[str] = frozenset()
        self._metadata_directory = metadata_directory
        self._homes: dict[TopicPartition, LogDirectory] = {}
        self._counts = dict.fromkeys(self.directories, 0)
        self._preferred: dict[TopicPartition, LogDirectory] = {}
        self._lost: set[TopicPartition] = set()
        self.directory_ids = frozenset(each.directory_id for each in self.directories)
        self._rivals: dict[TopicPartition, list[LogDirectory]] = {}
        """Where there are logs of one name: of several topics, once they are settled."""
        self._unsettled: set[TopicPartition] = set()
        self._replaced: list[tuple[TopicPartition, LogDirectory]] = []
        for directory in dict.fromkeys((metadata_directory, *self.directories)):
            for partition in sorted(directory.names.unopened):
                first = self._homes.get(partition)
                if first is None:
                    self.add(partition, directory)
                else:
                    self._rivals.setdefault(partition, [first]).append(directory)
                    self._unsettled.add(partition)
        self._unfinished = {
            partition: directory
            for directory in self.directories
            for partition in directory.futures.unfinished
        }

    def settle(self) -> None:
        """Delete the logs that others of their name have replaced.

        Raises ``StorageError`` if nothing tells which of two counts, ``LostDirectoryError`` for a
        directory without which this is to be repeated.
        """
        for partition in sorted(self._unsettled):
            counting, replaced = _told_apart(partition, self._rivals[partition])
            self._rivals[partition] = counting
            self._replaced += [(partition, directory) for directory in replaced]
            self._unsettled.remove(partition)
            self.add(partition, counting[0])
        while self._replaced:
            partition, directory = self._replaced[-1]
            with _using(directory):
                directory.delete(partition)
            self._replaced.pop()

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
        ``LostDirectoryError`` for a directory without which this is to be repeated.
        """
        for partition, directories in self._rivals.items():
            self.remove(partition)
            for directory in tuple(directories):
                with _using(directory):
                    if is_known(partition, directory.names.topic_id(partition)):
                        self.add(partition, directory)
                    else:
                        directory.names.set_aside(partition)
                        directories.remove(directory)
        self._rivals.clear()

    def is_lost(self, partition: TopicPartition) -> bool:
        """Return whether the log of a partition was in a directory that has failed since."""
        return partition in self._lost

    def take_offline(self, directory: LogDirectory) -> list[TopicPartition]:
        """Use a directory no more; return the partitions that had their logs there."""
        self.directories.remove(directory)
        self.directory_ids -= {directory.directory_id}
        del self._counts[directory]
        self._leave_out(directory)
        lost = [name for name, home in self._homes.items() if home is directory]
        for partition in lost:
            del self._homes[partition]
        self._lost.update(lost)
        self._preferred = _elsewhere(directory, self._preferred)
        self._unfinished = _elsewhere(directory, self._unfinished)
        return lost

    def _leave_out(self, directory: LogDirectory) -> None:
        """Settle without a directory: it may have the log that counts, then that is where it is."""
        for partition in [each for each in self._unsettled if directory in self._rivals[each]]:
            self._unsettled.remove(partition)
            del self._rivals[partition]
            self.add(partition, directory)
        for rivals in self._rivals.values():
            if directory in rivals:
                rivals.remove(directory)
        self._replaced = [each for each in self._replaced if each[1] is not directory]


@contextmanager
def _using(directory: LogDirectory) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LostDirectoryError(directory, error) from error


def _elsewhere(
    directory: LogDirectory, homes: dict[TopicPartition, LogDirectory]
) -> dict[TopicPartition, LogDirectory]:
    return {name: home for name, home in homes.items() if home is not directory}


def _told_apart(
    partition: TopicPartition, directories: Iterable[LogDirectory]
) -> tuple[list[LogDirectory], list[LogDirectory]]:
    """Return whose logs count, each of another topic, and whose were replaced by one of these."""
    counting: list[LogDirectory] = []
    replaced: list[LogDirectory] = []
    for directory in directories:
        same = next((e for e in counting if not _differ(partition, e, directory)), None)
        if same is None:
            counting.append(directory)
        elif _is_later(partition, directory, same):
            counting[counting.index(same)] = directory
            replaced.append(same)
        else:
            replaced.append(directory)
    return counting, replaced


def _differ(partition: TopicPartition, first: LogDirectory, second: LogDirectory) -> bool:
    """Return whether two logs of one name are of two topics."""
    one, two = _topic_id(partition, first), _topic_id(partition, second)
    return None not in (one, two) and one != two


def _topic_id(partition: TopicPartition, directory: LogDirectory) -> UUID | None:
    with _using(directory):
        return directory.names.topic_id(partition)


def _is_later(partition: TopicPartition, first: LogDirectory, second: LogDirectory) -> bool:
    """Return whether the log of the first directory has replaced that of the second.

    Raises ``StorageError`` if nothing tells.
    """
    one, two = _rank(partition, first), _rank(partition, second)
    _, has_records = one
    if one == two and has_records:
        raise StorageError(
            f"{second.path} and {first.path} both have a log of {partition}: a copy was made by "
            "hand, or a directory failed while the partition moved. Remove one of the two, and "
            "best the one whose disk has failed recently"
        )
    return one > two


def _rank(partition: TopicPartition, directory: LogDirectory) -> tuple[int, bool]:
    with _using(directory):
        return directory.rank(partition)
