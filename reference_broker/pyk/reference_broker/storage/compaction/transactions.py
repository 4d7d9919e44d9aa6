"""Which batches of transactions compaction may remove. Pure.

Records of aborted transactions go. A marker stays as long as records of its transaction do, because
readers need it, and at least until ``delete.retention.ms`` after they have gone.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from pyk.protocol.records import RecordBatch
from pyk.protocol.records.cursor import control_type_of
from pyk.reference_broker.storage.transaction_marker import ABORT, COMMIT
from pyk.reference_broker.storage.unstable_transactions import EndedTransaction


class CleanedTransactions:
    """Follows the transactions of a log from batch to batch, in the order of their offsets.

    ``aborted`` are all aborted ones whose records may come. ``kept`` collects those whose markers
    have passed and which some batch still belonged to: the entries of the new transaction index.
    """

    def __init__(self, aborted: Iterable[EndedTransaction]) -> None:
        self.kept: list[EndedTransaction] = []
        self._to_come = [(each.first_offset, each) for each in aborted]
        heapq.heapify(self._to_come)
        self._aborted: dict[int, EndedTransaction] = {}
        self._with_records: set[int] = set()
        self._committed: set[int] = set()

    def is_aborted(self, batch: RecordBatch) -> bool:
        """Take the next batch of records; return whether its transaction was aborted."""
        self._begin_up_to(batch.last_offset)
        if not batch.is_transactional:
            return False
        if batch.producer_id in self._aborted:
            self._with_records.add(batch.producer_id)
            return True
        self._committed.add(batch.producer_id)
        return False

    def is_marker_of_nothing(self, batch: RecordBatch) -> bool:
        """Take the next control batch; return whether no batch before it needs it."""
        self._begin_up_to(batch.last_offset)
        if not batch.count:
            return True  # a pass before this one has emptied it
        producer_id, kind = batch.producer_id, control_type_of(batch)
        if kind == ABORT:
            ended = self._aborted.pop(producer_id, None)
            if ended is None or producer_id not in self._with_records:
                return True
            self._with_records.discard(producer_id)
            self.kept.append(ended)
            return False
        if kind == COMMIT:
            had_records = producer_id in self._committed
            self._committed.discard(producer_id)
            return not had_records
        return False

    def _begin_up_to(self, offset: int) -> None:
        while self._to_come and self._to_come[0][0] <= offset:
            _, ended = heapq.heappop(self._to_come)
            self._aborted[ended.producer_id] = ended
