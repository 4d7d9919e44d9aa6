"""Tell the controller where each replica is, and which log directories have failed or are cordoned.

The controller must know: when a directory fails, its partitions need other leaders (KIP-858), and a
broker whose directories are all cordoned gets no new partitions (KIP-1066). What cannot be told now
is told again later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.runtime.timers import Moment, TimerQueue

from .controller_channel import ControllerChannel

if TYPE_CHECKING:
    from pyk.protocol.messages.assign_replicas_to_dirs import (
        AssignReplicasToDirsRequest,
        AssignReplicasToDirsResponse,
    )
    from pyk.protocol.messages.broker_heartbeat import BrokerHeartbeatResponse

RETRY_MS = 500
MAX_ASSIGNMENTS = 2_250
"""How many one request may have, as in Kafka."""

_GONE = (
    ErrorCode.NONE,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
)
"""Nothing is left to be told: it is done, or the replica is deleted."""


class DirectoryReports:
    """Reports of one broker, gathered until the loop's next turn. Belongs to the broker's loop."""

    def __init__(
        self,
        node_id: int,
        timers: TimerQueue,
        moment: Callable[[], Moment],
    ) -> None:
        self._node_id = node_id
        self._controller: ControllerChannel | None = None
        self._timers = timers
        self._moment = moment
        self._broker_epoch = -1
        self._located: dict[tuple[UUID, int], UUID] = {}
        self._failed: list[UUID] = []
        self._cordoned: frozenset[UUID] = frozenset()
        self._knows_directories = True
        self._is_sending = False

    def begin(self, controller: ControllerChannel, broker_epoch: int) -> None:
        """Report from now on: the broker has registered."""
        self._controller, self._broker_epoch = controller, broker_epoch
        self._send_soon()

    def located(self, topic_id: UUID, number: int, directory_id: UUID) -> None:
        """Report that a replica is in a directory, which the controller does not know yet."""
        self._located[topic_id, number] = directory_id
        self._send_soon()

    def failed(self, directory_id: UUID) -> None:
        """Report that a directory has failed."""
        self._failed.append(directory_id)
        self._knows_directories = False
        self._send_soon()

    def cordoned(self, directory_ids: frozenset[UUID]) -> None:
        """Report which directories take no new partitions, unless the controller knows."""
        if directory_ids != self._cordoned:
            self._cordoned = directory_ids
            self._knows_directories = False
            self._send_soon()

    def _send_soon(self, delay_ms: int = 0) -> None:
        has_news = bool(self._located) or not self._knows_directories
        if self._controller is not None and has_news and not self._is_sending:
            self._timers.schedule(self, self._moment().after(delay_ms), self._send)

    def _send(self, _: float) -> None:
        assert self._controller is not None
        self._is_sending = True
        if not self._knows_directories:
            self._send_directories(self._controller)
        else:
            self._send_located(self._controller)

    def _send_directories(self, controller: ControllerChannel) -> None:
        from pyk.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest

        told = list(self._failed), self._cordoned
        request = BrokerHeartbeatRequest(
            broker_id=self._node_id,
            broker_epoch=self._broker_epoch,
            offline_log_dirs=told[0],
            cordoned_log_dirs=sorted(self._cordoned),
        )

        def answered(response: BrokerHeartbeatResponse) -> None:
            is_current = told == (self._failed, self._cordoned)
            self._knows_directories = not response.error_code and is_current
            self._sent(is_done=not response.error_code)

        controller.send(request).when_done(answered)

    def _send_located(self, controller: ControllerChannel) -> None:
        told = dict(list(self._located.items())[:MAX_ASSIGNMENTS])
        controller.send(self._assignment(told)).when_done(
            lambda response: self._located_answered(told, response)
        )

    def _located_answered(
        self, told: dict[tuple[UUID, int], UUID], response: AssignReplicasToDirsResponse
    ) -> None:
        if response.error_code == ErrorCode.UNSUPPORTED_VERSION:
            self._located.clear()  # the metadata have no room for that
        for directory in response.directories:
            for topic in directory.topics:
                for each in topic.partitions:
                    key = (topic.topic_id, each.partition_index)
                    is_current = self._located.get(key) == told.get(key)
                    if is_current and each.error_code in _GONE:
                        self._located.pop(key, None)
        is_untold = any(self._located.get(key) == each for key, each in told.items())
        self._sent(is_done=not is_untold)

    def _assignment(self, told: dict[tuple[UUID, int], UUID]) -> AssignReplicasToDirsRequest:
        from pyk.protocol.messages.assign_replicas_to_dirs import (
            AssignReplicasToDirsRequest,
            RequestDirectoryData,
            RequestPartitionData,
            RequestTopicData,
        )

        directories: dict[UUID, dict[UUID, list[int]]] = {}
        for (topic_id, number), directory_id in told.items():
            directories.setdefault(directory_id, {}).setdefault(topic_id, []).append(number)
        return AssignReplicasToDirsRequest(
            broker_id=self._node_id,
            broker_epoch=self._broker_epoch,
            directories=[
                RequestDirectoryData(
                    id=directory_id,
                    topics=[
                        RequestTopicData(
                            topic_id=topic_id,
                            partitions=[
                                RequestPartitionData(partition_index=number) for number in numbers
                            ],
                        )
                        for topic_id, numbers in topics.items()
                    ],
                )
                for directory_id, topics in directories.items()
            ],
        )

    def _sent(self, *, is_done: bool) -> None:
        self._is_sending = False
        self._send_soon(0 if is_done else RETRY_MS)
