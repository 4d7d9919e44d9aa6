"""Records that were handed out and wait to be acknowledged by a call. Pure."""

from __future__ import annotations

from collections import deque

from pyk.clients.errors import StateError
from pyk.clients.share.acknowledge_type import AcknowledgeType
from pyk.clients.share.acknowledgements import GAP, RENEW, UNDECIDED, Acknowledgements
from pyk.clients.share.acquired_records import AcquiredRecords, Outgoing, Part
from pyk.clients.topic_partition import TopicPartition
from pyk.clients.wording import counted

RELEASE = int(AcknowledgeType.RELEASE)
LARGEST_OFFSET = 2**63 - 1


class Held:
    """What is held of one fetched partition."""

    def __init__(self) -> None:
        self.acknowledgements = Acknowledgements()
        """How its offsets are acknowledged, as far as the application has said."""
        self.undecided = 0
        """How many of its records are not acknowledged."""


class HeldRecords:
    """All records that the application has and must acknowledge; they leave through ``outbox``."""

    def __init__(self, outbox: deque[Outgoing]) -> None:
        self.undecided = 0
        """How many records are not acknowledged."""
        self._held: dict[AcquiredRecords, Held] = {}
        self._outbox = outbox

    def check(self) -> None:
        """Raise :class:`StateError` if a record is not acknowledged."""
        if self.undecided:
            raise StateError(
                f"{counted(self.undecided, 'record')} must be acknowledged before the next poll: "
                "call acknowledge(record, kind) for each; share_acknowledgement_mode is explicit"
            )

    # -- what is handed out ------------------------------------------------------------------------

    def hold(self, part: Part) -> None:
        """Hold all records of a part."""
        self._add(part, part.first, part.last, part.span.count)

    def hold_one(self, part: Part, first: int, offset: int) -> None:
        """Hold one record of a part, which stands for all offsets from ``first`` on."""
        self._add(part, first, offset, 1)

    def _add(self, part: Part, first: int, last: int, count: int) -> None:
        held = self._of(part)
        held.acknowledgements.add(first, last, UNDECIDED)
        held.undecided += count
        self.undecided += count

    def release(self, part: Part, first: int, offset: int) -> None:
        """Hold a record that could not be handed out, and release it unless it is acknowledged
        otherwise."""
        self._of(part).acknowledgements.add(first, offset, RELEASE)

    def _of(self, part: Part) -> Held:
        held = self._held.get(part.acquired)
        if held is None:
            held = self._held[part.acquired] = Held()
        part.acquired.keep(part)
        return held

    # -- what becomes of it ------------------------------------------------------------------------

    def decide(self, acquired: AcquiredRecords, offset: int, kind: int) -> bool:
        """Acknowledge one record; return False if it is not held."""
        held = self._held.get(acquired)
        if held is None:
            return False
        known = held.acknowledgements.decide(offset, kind)
        if known is None:
            return False
        if known == UNDECIDED:
            held.undecided -= 1
            self.undecided -= 1
        return True

    def acknowledge(self, acquired: AcquiredRecords, offset: int, kind: AcknowledgeType) -> None:
        """Acknowledge one record; raise :class:`StateError` if it is not held."""
        if not self.decide(acquired, offset, int(kind)):
            raise StateError(
                f"the record of {acquired.topic_partition} at offset {offset} cannot be "
                "acknowledged: that was done already, or it is not one of this consumer's last poll"
            )

    def find(self, partition: TopicPartition, offset: int) -> AcquiredRecords:
        """Return what a held record was acquired with; raise :class:`StateError` if there is
        none."""
        for acquired, held in self._held.items():
            if acquired.topic_partition != partition or not 0 <= offset <= LARGEST_OFFSET:
                continue
            is_held = held.acknowledgements.kind_at(offset) is not None
            if is_held and acquired.has_record(offset):
                return acquired
        raise StateError(
            f"no record of {partition} at offset {offset} waits to be acknowledged: that was done "
            "already, or it is not one of this consumer's last poll"
        )

    def send_decided(self) -> None:
        """Let what is acknowledged be sent; what is left of a part without records are gaps."""
        for acquired, held in list(self._held.items()):
            decided = held.acknowledgements.take_decided()
            if not held.undecided:
                decided.add_all([(first, last, GAP) for first, last, _ in held.acknowledgements])
                del self._held[acquired]
            for first, last, kind in decided:
                self._outbox.append((acquired, first, last, kind))
                if kind != RENEW:
                    acquired.finish(first, last)
