"""The acknowledgements that one leader is to get, and what its responses make of them. Pure.

A leader takes all acknowledgements of a partition, or none. What it cannot take for now waits and
is sent again; everything else is settled by its answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from uuid import UUID

from pyk.clients.consumer.group.modern.assignment import TopicIdPartition
from pyk.clients.errors import (
    InvalidRecordStateError,
    KafkaError,
    KafkaTimeoutError,
    ShareSessionNotFoundError,
    error_for,
)
from pyk.clients.errors.base import copy_to_raise
from pyk.clients.share.commit_ticket import PendingAcknowledgements, due_at
from pyk.clients.share.share_session import LOST
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode

REFUSED = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        *LOST,
    }
)
"""Errors of acknowledgements that are not tried again, although they are retriable: another leader
does not have the locks, and a partition that was deleted does not come back."""

Answers = Mapping[tuple[UUID, int], tuple[int, str | None]]
"""The error code and the message of each partition, by topic id and number."""


class AcknowledgementQueue:
    """What one leader is to get; ``delay`` is how long to wait after so many attempts."""

    def __init__(self, node_id: int, delay: Callable[[int], float]) -> None:
        self.is_ending = False
        """Whether nothing is tried again, as the session is being ended."""
        self._node_id = node_id
        self._delay = delay
        self._waiting: list[PendingAcknowledgements] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    @property
    def count(self) -> int:
        """How many acknowledgements wait to be sent."""
        return sum(one.acknowledgements.count for one in self._waiting)

    def add(self, some: Iterable[PendingAcknowledgements]) -> None:
        """Send these behind the others."""
        self._waiting += some

    def put_back(self, some: Iterable[PendingAcknowledgements]) -> None:
        """Send these again, before the others: no leader has applied them."""
        self._waiting = [*some, *self._waiting]

    def take_due(self, now: float) -> list[PendingAcknowledgements]:
        """Remove and return what is to be sent now."""
        due, self._waiting = due_at(self._waiting, now)
        return due

    def take_last(self) -> list[PendingAcknowledgements]:
        """Remove and return what to send with the request that ends the session.

        It renews nothing: the locks end with the session, and not every leader knows renewal.
        """
        last = [one for one in self._waiting if not one.acknowledgements.has_renewals]
        self._waiting = [one for one in self._waiting if one.acknowledgements.has_renewals]
        return last

    def next_moments(self, now: float) -> list[float]:
        """Return when something is to be sent or settled, as far as that is to come."""
        moments = [one.deadline for one in self._waiting]
        return moments + [one.not_before for one in self._waiting if one.not_before > now]

    # -- what is not sent --------------------------------------------------------------------------

    def refuse_overtaken(self) -> None:
        """Settle what the leader has delivered again since: it would take it for that delivery."""
        overtaken = [one for one in self._waiting if one.acquired.is_overtaken]
        self._waiting = [one for one in self._waiting if not one.acquired.is_overtaken]
        for one in overtaken:
            one.settle(self._delivered_again(one.partition))

    def expire(self, now: float, reason: KafkaError | None) -> None:
        """Settle what is late; ``reason`` is why the last request failed."""
        late = [one for one in self._waiting if one.deadline <= now]
        if late:
            self._waiting = [one for one in self._waiting if one.deadline > now]
            self.settle(late, self._too_late(reason))

    def settle(self, some: Iterable[PendingAcknowledgements], error: KafkaError) -> None:
        """Settle acknowledgements that all failed for the same reason."""
        for one in some:
            one.settle(copy_to_raise(error))

    def settle_without_session(self) -> None:
        """Settle everything: there is no session any more in which it could be sent."""
        self._settle_all(
            f"node {self._node_id} has lost the share session, and leads nothing any more that "
            "this member is assigned"
        )

    def settle_at_the_end(self, reason: KafkaError | None) -> None:
        """Settle everything: the consumer is done with the session; ``reason`` is why the last
        request failed."""
        self._settle_all(
            f"the consumer ended its share session with node {self._node_id} before it could send "
            f"these acknowledgements, so the records are delivered again{_because(reason)}"
        )

    def _settle_all(self, message: str) -> None:
        error = ShareSessionNotFoundError(message, node_id=self._node_id)
        everything, self._waiting = self._waiting, []
        self.settle(everything, error)

    # -- what a response says ----------------------------------------------------------------------

    def settle_refused(
        self, due: Iterable[PendingAcknowledgements], code: ErrorCode, error: KafkaError
    ) -> None:
        """Take the error of a whole response. After a lost session they are sent once more, in the
        next one."""
        again = [one for one in due if code in LOST and not one.is_sent_again]
        for one in again:
            one.is_sent_again = True
        self.put_back(again)
        self.settle([one for one in due if one not in again], error)

    def settle_by(
        self,
        answers: Answers,
        due: list[PendingAcknowledgements],
        *,
        api_key: ApiKey,
        now: float,
    ) -> None:
        """Settle acknowledgements by the error codes of their partitions."""
        again: list[PendingAcknowledgements] = []
        together = Counter(one.partition for one in due)
        for one in due:
            partition = one.partition
            answer = answers.get((partition.topic_id, partition.number))
            if answer is None:
                one.settle(self._no_answer(partition))
                continue
            code = ErrorCode(answer[0])
            if code is ErrorCode.NONE:
                one.settle(None)
            elif self._is_tried_again(one, code, now, is_alone=together[partition] == 1):
                again.append(one)
            else:
                one.settle(_refused(partition, code, answer[1], api_key))
        self.put_back(again)

    def _is_tried_again(
        self, one: PendingAcknowledgements, code: ErrorCode, now: float, *, is_alone: bool
    ) -> bool:
        if self.is_ending:
            return False
        if code is ErrorCode.INVALID_RECORD_STATE and not is_alone:
            one.is_apart = True  # the leader took none of them, because of any
            return True
        if not code.retriable or code in REFUSED:
            return False
        one.attempts += 1
        one.not_before = now + self._delay(one.attempts)
        return True

    # -- errors ------------------------------------------------------------------------------------

    def _too_late(self, reason: KafkaError | None) -> KafkaTimeoutError:
        return KafkaTimeoutError(
            f"could not acknowledge at node {self._node_id} in time{_because(reason)}",
            node_id=self._node_id,
        )

    def _no_answer(self, partition: TopicIdPartition) -> InvalidRecordStateError:
        return InvalidRecordStateError(
            f"node {self._node_id} did not answer about these acknowledgements",
            topic=partition.topic,
            partition=partition.number,
            definite=False,
        )

    def _delivered_again(self, partition: TopicIdPartition) -> InvalidRecordStateError:
        return InvalidRecordStateError(
            f"node {self._node_id} has lost the locks of these records, and delivered them again "
            "to this member",
            topic=partition.topic,
            partition=partition.number,
        )


def _refused(
    partition: TopicIdPartition, code: ErrorCode, message: str | None, api_key: ApiKey
) -> KafkaError:
    return error_for(
        code, message, topic=partition.topic, partition=partition.number, api_key=api_key
    )


def _because(reason: KafkaError | None) -> str:
    return "" if reason is None else f": {reason}"
