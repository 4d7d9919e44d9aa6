"""Which topics the logs of a data directory belong to, and which of them nobody has opened."""

from __future__ import annotations

import logging
from collections.abc import Callable
from uuid import UUID

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.storage.data_directory import DataDirectory
from pyk.reference_broker.storage.errors import LogError
from pyk.reference_broker.storage.partition_metadata import read_topic_id, write_topic_id
from pyk.reference_broker.storage.segment import LOG_SUFFIX

log = logging.getLogger(__name__)


class LogNames:
    """The logs on the disk, by name. ``unopened`` are those that an earlier broker left.

    ``new_id`` makes the names of logs that are set aside.
    """

    def __init__(self, data_directory: DataDirectory, new_id: Callable[[], UUID]) -> None:
        self.unopened = set(data_directory.partitions())
        self._data_directory = data_directory
        self._filesystem = data_directory.filesystem
        self._new_id = new_id
        self._topic_ids: dict[TopicPartition, UUID | None] = {}

    def has_directory(self, partition: TopicPartition) -> bool:
        """Return whether there is a directory of this name."""
        directory = self._data_directory.path_of(partition)
        return partition in self._topic_ids or self._filesystem.is_directory(directory)

    def topic_id(self, partition: TopicPartition) -> UUID | None:
        """Return which topic the log on the disk belongs to, None if that is unknown."""
        known = self._topic_ids.get(partition)
        if known is None:
            known = read_topic_id(self._filesystem, self._data_directory.path_of(partition))
            self._topic_ids[partition] = known
        return known

    def write_topic_id(self, partition: TopicPartition, topic_id: UUID | None) -> None:
        """Write down the topic of a log that does not say it yet; raise ``OSError``."""
        if topic_id is not None and self._topic_ids.pop(partition, None) is None:
            directory = self._data_directory.path_of(partition)
            self._filesystem.make_directory(directory)
            write_topic_id(self._filesystem, directory, topic_id)

    def forget_topic_id(self, partition: TopicPartition) -> None:
        """Forget which topic a log belongs to: its name is free, or will be."""
        self._topic_ids.pop(partition, None)

    def set_aside(self, partition: TopicPartition) -> None:
        """Rename an unused log, so that its name is free; raise ``OSError``."""
        self._data_directory.set_aside(partition, self._new_id())
        self.unopened.discard(partition)
        self._topic_ids.pop(partition, None)

    def set_strays_aside(
        self, is_known: Callable[[TopicPartition, UUID | None], bool]
    ) -> list[TopicPartition]:
        """Rename the logs that no metadata names, and log that: see ``LogManager``."""
        try:
            self._data_directory.name_strays()
        except OSError as error:
            log.warning("Could not look for stray logs: %s", error)
        strays = []
        for partition in sorted(self.unopened):
            directory = self._data_directory.path_of(partition)
            try:
                is_clean = self._data_directory.was_shut_down_cleanly
                topic_id = None if is_clean else self.topic_id(partition)
                has_lost_id = topic_id is None and self._may_have_lost_id(directory)
                if has_lost_id or not is_known(partition, topic_id):
                    self.set_aside(partition)
                    strays.append(partition)
            except (LogError, OSError) as error:
                log.warning("Could not tell which topic %s belongs to: %s", directory, error)
        return strays

    def _may_have_lost_id(self, directory: str) -> bool:
        """Whether a log may be that of a deleted topic, whose id a power failure took.

        The id is flushed with the first records, so nothing of such a log was.
        """
        return not self._data_directory.was_shut_down_cleanly and any(
            name.endswith(LOG_SUFFIX) and self._filesystem.size(f"{directory}/{name}")
            for name in self._filesystem.list_directory(directory)
        )
