"""Which broker leads a partition, and since which epoch, as this broker knows it. Pure."""

from __future__ import annotations

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.storage.errors import (
    FencedLeaderEpochError,
    NotLeaderError,
    UnknownLeaderEpochError,
)

NO_LEADER = -1


class Leadership:
    """The leader of a partition; refuses requests that belong to another leader or epoch."""

    def __init__(self, topic_partition: TopicPartition, node_id: int) -> None:
        self.leader_id = NO_LEADER
        self.leader_epoch = -1
        self._topic_partition = topic_partition
        self._node_id = node_id

    @property
    def is_ours(self) -> bool:
        """Whether this broker is the leader."""
        return self.leader_id == self._node_id

    def change(self, leader_id: int, leader_epoch: int) -> None:
        """Follow an election: ``leader_id`` leads since ``leader_epoch``, no broker if it is -1."""
        self.leader_id, self.leader_epoch = leader_id, leader_epoch

    def check(self) -> None:
        """Raise ``NotLeaderError`` unless this broker leads."""
        if self.leader_id != self._node_id:
            raise NotLeaderError(
                f"node {self._node_id} does not lead {self._topic_partition}, "
                f"{'nobody' if self.leader_id == NO_LEADER else f'node {self.leader_id}'} does"
            )

    def check_epoch(self, current_leader_epoch: int) -> None:
        """Raise unless this broker leads, in the epoch that the client knows (KIP-320).

        -1 is a client that does not say. Raises ``FencedLeaderEpochError`` if it knows an older
        epoch, ``UnknownLeaderEpochError`` if a newer one, and what ``check`` does.
        """
        if current_leader_epoch not in (-1, self.leader_epoch):
            message = (
                f"the leader epoch of {self._topic_partition} is {self.leader_epoch}, "
                f"not {current_leader_epoch}"
            )
            if current_leader_epoch < self.leader_epoch:
                raise FencedLeaderEpochError(message)
            raise UnknownLeaderEpochError(message)
        self.check()
