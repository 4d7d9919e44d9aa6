"""The partitions of this broker: opened, led, configured and deleted as the metadata image says."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.topics import TopicPartition

from .broker_configs import BrokerConfigs
from .controller.image import MetadataImage, PartitionImage
from .controller.log_dirs import NO_DIRECTORY, UNASSIGNED_DIRECTORY, is_online_directory
from .controller.metadata_versions import DIRECTORY_ASSIGNMENT
from .errors import ApiError
from .partition import Partition
from .storage import Log, LogManager
from .storage.data_directory import may_move
from .storage.log_directory import LogDirectory

log = logging.getLogger(__name__)

OPEN_DIRECTORIES = (NO_DIRECTORY, UNASSIGNED_DIRECTORY)


class Replicas:
    """All partitions that have a replica here.

    ``on_moved`` is called with each partition that changes, ``on_located`` with each one that is in
    another log directory than the image says: its topic's id, its number, the directory's id.
    """

    def __init__(
        self,
        node_id: int,
        logs: LogManager,
        configs: BrokerConfigs,
        image: MetadataImage,
        *,
        on_moved: Callable[[Partition], None],
        on_located: Callable[[UUID, int, UUID], None] = lambda topic_id, number, directory_id: None,
    ) -> None:
        self._node_id = node_id
        self._logs = logs
        self._configs = configs
        self._image = image
        self._on_moved = on_moved
        self._on_located = on_located
        self._must_have_logs: set[TopicPartition] = set()
        self._partitions: dict[tuple[str, int], Partition] = {}
        self._offline: set[tuple[str, int]] = set()
        self._unopened: dict[tuple[str, int], Callable[[TopicPartition], None]] = {}
        logs.announce_move = self._announce
        logs.when_moved = self._moved

    @property
    def logs(self) -> LogManager:
        """The logs of the partitions, and the directories that they are in."""
        return self._logs

    def get(self, topic: str, number: int) -> Partition:
        """Return a partition of this broker; raise :class:`ApiError` if it does not hold it."""
        partition = self._partitions.get((topic, number))
        if partition is not None:
            return partition
        open_now = self._unopened.pop((topic, number), None)
        if open_now is not None:
            open_now(TopicPartition(topic, number))
            return self.get(topic, number)
        if self._image.partition(TopicPartition(topic, number)) is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if (topic, number) in self._offline:
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "The log of this partition is offline.")
        raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "This partition is being opened.")

    def find(self, name: TopicPartition) -> Partition | None:
        """Return a partition of this broker, None if it does not hold it."""
        return self._partitions.get((name.topic, name.partition))

    def of_topic(self, topic: str) -> list[Partition]:
        """Return the partitions of a topic, by number."""
        image = self._image.topics.get(topic)
        numbers = () if image is None else sorted(image.partitions)
        held = (self._partitions.get((topic, number)) for number in numbers)
        return [partition for partition in held if partition is not None]

    def open_when_used(
        self, names: Iterable[TopicPartition], follow: Callable[[TopicPartition], None]
    ) -> None:
        """Call ``follow`` for each of these when it is used for the first time, or is to move."""
        for name in names:
            if self._logs.homes.is_unfinished(name):
                follow(name)
            else:
                self._unopened[name] = follow

    def unopened(self) -> list[TopicPartition]:
        """Return the partitions that were not used yet."""
        return [TopicPartition(*name) for name in self._unopened]

    def follow(self, name: TopicPartition, when_free: Callable[[], None]) -> bool:
        """Bring one partition in line with the image: open, reassign, retire or delete it.

        Returns False if a new log has to wait; ``when_free`` is called when it is time to repeat.
        Raises ``LogError`` or ``OSError`` when the disk fails; it can be repeated.
        """
        self._offline.add((name.topic, name.partition))
        is_done = self._follow(name, when_free)
        if not self.is_offline(name):
            self._offline.discard((name.topic, name.partition))
        return is_done

    def is_offline(self, name: TopicPartition) -> bool:
        """Return whether the log of a partition is in a directory that cannot be used.

        An empty log must not take its place: the directory may come back.
        """
        image = self._image.partition(name)
        if image is None or self._logs.homes.of(name) is not None:
            return False
        if self._logs.homes.is_lost(name) or name in self._must_have_logs:
            return True
        directory = image.directory_of(self._node_id)
        return not is_online_directory(directory, self._logs.homes.directory_ids)

    def expect_logs(self) -> None:
        """Treat partitions without a log as offline from now on, while a directory is offline.

        Those that the image has now are not new: their logs may be in that directory. If the image
        says so, a log elsewhere is what a move has left, and lacks what was written since.
        """
        if not self._logs.failures:
            return
        homes = self._logs.homes
        for topic in self._image.topics.values():
            for number, image in topic.partitions.items():
                name = TopicPartition(topic.name, number)
                self._must_have_logs.add(name)
                home, directory = homes.of(name), image.directory_of(self._node_id)
                if home and not is_online_directory(directory, homes.directory_ids):
                    log.warning(
                        "%s/%s is not used: the log that counts is in a directory that is offline",
                        home.path,
                        name,
                    )
                    homes.remove(name)

    def go_offline(self, names: Iterable[TopicPartition]) -> None:
        """Answer KAFKA_STORAGE_ERROR for these from now on: their log directory has failed."""
        for name in names:
            self._offline.add((name.topic, name.partition))
            self._unopened.pop((name.topic, name.partition), None)

    def _follow(self, name: TopicPartition, when_free: Callable[[], None]) -> bool:
        self._unopened.pop(name, None)
        topic = self._image.topics.get(name.topic)
        image = self._image.partition(name)
        held = self.find(name)
        is_here = topic is not None and image is not None and self._node_id in image.replicas
        if held is not None and not (is_here and topic and held.topic_id == topic.topic_id):
            self.retire(name)
            held = None
        if topic is None or image is None or not is_here:
            self._logs.delete(name)
            return True
        if self.is_offline(name):
            return True
        if held is None:
            if not self._logs.free_name(name, topic.topic_id, when_free):
                return False
            opened = self._logs.get_or_create(
                name, self._configs.log_config(name.topic), topic.topic_id
            )
            held = Partition(name, topic.topic_id, self._node_id, opened)
            held.add_listener(self._on_moved)
            self._partitions[name.topic, name.partition] = held
            self._resume_move(held)
        if image.leader == self._node_id:
            held.become_leader(image.leader_epoch, image.replicas, image.isr)
        else:
            held.resign(image.leader, image.leader_epoch)
        if held.failure is None:
            self._locate(name, topic.topic_id, image)
        return True

    def _locate(self, name: TopicPartition, topic_id: UUID, image: PartitionImage) -> bool:
        """Tell where a log is, or is about to be; return True if the image says so.

        It may leave open where, as long as there is only one directory.
        """
        known, place = image.directory_of(self._node_id), self._logs.place_of(name)
        is_certain = len(self._logs.log_dirs) == 1 and known in OPEN_DIRECTORIES
        if place is None or place.directory_id == known or is_certain:
            return True
        self._on_located(topic_id, name.partition, place.directory_id)
        return self._image.metadata_version < DIRECTORY_ASSIGNMENT  # then it never will

    def _announce(self, name: TopicPartition) -> bool:
        """Do what ``_locate`` does with a partition that is held here; there is one image of it."""
        partition, image = self.find(name), self._image.partition(name)
        if partition is None or image is None:
            return False
        return self._locate(name, partition.topic_id, image)

    def move(self, name: TopicPartition, path: str) -> None:
        """Begin to move the log of a partition to another directory; raise :class:`ApiError`.

        It stays where it is if ``path`` is its directory: a move under way ends then. A partition
        that is created later begins in the directory.
        """
        target = self._move_target(name, path)
        moves, homes = self._logs.moves, self._logs.homes
        under_way = moves.get(name)
        if under_way is not None and under_way.target is not target:
            moves.end(name)
        try:
            partition = self.get(name.topic, name.partition)
        except ApiError as error:
            if error.code is not ErrorCode.KAFKA_STORAGE_ERROR:
                homes.prefer(name, target)
            if error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER:
                raise ApiError(ErrorCode.REPLICA_NOT_AVAILABLE) from error
            raise
        if homes.of(name) is target or moves.get(name) is not None:
            return
        if self._logs.failures or partition.failure is not None:
            # As in Kafka: the directory that is offline may have a copy, too.
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "A log directory is offline.")
        moves.begin(partition.log, partition.topic_id, target)

    def _move_target(self, name: TopicPartition, path: str) -> LogDirectory:
        if not may_move(name):
            raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic name is too long.")
        if path not in self._logs.log_dirs:
            raise ApiError(ErrorCode.LOG_DIR_NOT_FOUND)
        if path in self._logs.homes.cordoned:
            raise ApiError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"Log directory {path} is cordoned"
            )
        target = self._logs.homes.at(path)
        if target is None:
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, f"{path} is offline.")
        return target

    def _moved(self, moved: Log) -> None:
        """Use a log that has taken the place of another."""
        partition = self.find(moved.topic_partition)
        if partition is not None:
            partition.move_to(moved)

    def _resume_move(self, partition: Partition) -> None:
        """Go on with the move that an earlier broker began."""
        target = self._logs.homes.take_unfinished(partition.topic_partition)
        if target is not None and target is not self._logs.homes.of(partition.topic_partition):
            self._logs.moves.begin(partition.log, partition.topic_id, target)

    def retire(self, name: TopicPartition) -> None:
        """Stop serving a partition; its log stays until ``follow`` deletes it."""
        self._unopened.pop(name, None)
        self._must_have_logs.discard(name)
        self._logs.mark_deleted(name)
        partition = self._partitions.pop((name.topic, name.partition), None)
        if partition is not None:
            # Requests that wait for it are checked, and find that it is gone.
            partition.resign(-1, partition.leader_epoch)

    def delete_former(self, name: TopicPartition, topic_id: UUID) -> None:
        """Delete the log of a deleted topic, if it is still there.

        Those of many partitions are gone before one of a new topic of that name is opened: then the
        checkpoints that name them are written once, and not for each. Raises ``OSError``.
        """
        home = self._logs.homes.of(name)
        is_gone = self._image.partition(name) is None
        if is_gone or (home is not None and home.names.topic_id(name) == topic_id):
            self._offline.discard((name.topic, name.partition))
            self._logs.delete(name)

    def update_config(self, topic: str | None = None) -> None:
        """Apply the current configuration to the logs of a topic, by default of all topics."""
        for partition in self._partitions.values() if topic is None else self.of_topic(topic):
            partition.log.config = self._configs.log_config(partition.topic_partition.topic)
