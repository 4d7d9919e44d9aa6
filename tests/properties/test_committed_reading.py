"""Laws of reading committed: of any interleaving of transactions, what was committed is read."""

from __future__ import annotations

import attrs
from hypothesis import given
from hypothesis import strategies as st

from pyk.protocol.records import FetchedRecords, RecordIterator, read_columns
from support.record_batches import control_batch, rows, sealed

ABORT, COMMIT = 0, 1
NO_PRODUCER = -1
BOOLEANS = st.booleans()


@attrs.define
class Log:
    """A log of batches, with the facts that a broker keeps beside it."""

    batches: list[tuple[int, int, bytes]] = attrs.Factory(list)
    """Base offset, next offset and bytes of each batch that is still there."""
    end: int = 0
    committed: list[int] = attrs.Factory(list)
    aborted: list[tuple[int, int, int]] = attrs.Factory(list)
    """Producer id, first offset and offset of the marker, in the order of the markers."""
    open: dict[int, list[int]] = attrs.Factory(dict)
    """The offsets that each producer has written in its open transaction."""
    starts: dict[int, int] = attrs.Factory(dict)
    """Where each open transaction begins."""

    def write(self, producer_id: int, count: int, *, is_compacted: bool) -> None:
        offsets = list(range(self.end, self.end + count))
        if not is_compacted:
            values = [b"%d" % offset for offset in offsets]
            is_transactional = producer_id != NO_PRODUCER
            epoch = 0 if is_transactional else -1
            data = sealed(
                *values,
                base_offset=self.end,
                producer_id=producer_id,
                producer_epoch=epoch,
                base_sequence=epoch,
                is_transactional=is_transactional,
            )
            self.batches.append((self.end, self.end + count, data))
        seen = [] if is_compacted else offsets
        if producer_id == NO_PRODUCER:
            self.committed += seen
        else:
            self.open.setdefault(producer_id, []).extend(seen)
            self.starts.setdefault(producer_id, self.end)
        self.end += count

    def finish(self, producer_id: int, control_type: int, *, is_compacted: bool) -> None:
        """Write a marker; compaction keeps the one that ends an aborted transaction."""
        offsets, first = self.open.pop(producer_id, []), self.starts.pop(producer_id, None)
        if control_type == COMMIT:
            self.committed += offsets
        elif first is not None:
            self.aborted.append((producer_id, first, self.end))
        if not (is_compacted and control_type == COMMIT):
            data = control_batch(control_type, base_offset=self.end, producer_id=producer_id)
            self.batches.append((self.end, self.end + 1, data))
        self.end += 1

    @property
    def last_stable_offset(self) -> int:
        return min(self.starts.values(), default=self.end)

    def stable_from(self, position: int) -> list[tuple[int, int, bytes]]:
        """Return the batches that a fetch from ``position`` may bring."""
        end = self.last_stable_offset
        return [one for one in self.batches if one[0] < end and one[1] > position]

    def readable(self, fetch_offset: int) -> list[int]:
        """Return the model's answer: what is committed, up to the last stable offset."""
        end = self.last_stable_offset
        return sorted(offset for offset in self.committed if fetch_offset <= offset < end)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "write", "write", "plain", "commit", "abort"]),
        st.integers(1, 2),
        st.integers(1, 3),
        st.booleans(),
    ),
    min_size=10,
    max_size=30,
)


@given(st.data())
def test_what_was_committed_is_read_and_nothing_else(data: st.DataObject) -> None:
    log = written(data.draw(STEPS), has_compaction=data.draw(BOOLEANS))
    position = fetch_offset = data.draw(st.integers(0, log.end))
    found: list[int] = []

    while log.stable_from(position):
        fetched = fetch(log, position, data)
        found += read_all(fetched, data.draw(st.integers(1, 5)), in_columns=data.draw(BOOLEANS))
        assert fetched.next_offset > position
        position = fetched.next_offset

    assert found == log.readable(fetch_offset)


def written(steps: list[tuple[str, int, int, bool]], *, has_compaction: bool) -> Log:
    log = Log()
    for step, producer_id, count, is_dropped in steps:
        is_compacted = has_compaction and is_dropped
        if step == "write":
            log.write(producer_id, count, is_compacted=is_compacted)
        elif step == "plain":
            log.write(NO_PRODUCER, count, is_compacted=is_compacted)
        else:
            # A commit without a transaction is a solitary marker.
            log.finish(producer_id, COMMIT if step == "commit" else ABORT, is_compacted=is_dropped)
    return log


def fetch(log: Log, position: int, data: st.DataObject) -> FetchedRecords:
    """Return a response with some batches from the position on, and the list that belongs to them.

    The list is in any order, and some of it comes twice.
    """
    taken = log.stable_from(position)[: data.draw(st.integers(1, 6))]
    end = taken[-1][1]
    listed = [
        (producer_id, first)
        for producer_id, first, marker in log.aborted
        if first < end and marker >= position
    ]
    listed += [entry for entry in listed if data.draw(BOOLEANS)]
    return FetchedRecords(
        "orders",
        0,
        b"".join(raw for _, _, raw in taken),
        position,
        aborted_transactions=data.draw(st.permutations(listed)),
    )


def read_all(fetched: FetchedRecords, max_records: int, *, in_columns: bool) -> list[int]:
    """Return the offsets of all records, taken in spans, whose values are their offsets."""
    found: list[int] = []
    while (span := fetched.next_span(max_records)) is not None:
        if in_columns:
            found += [row[0] for chunk in read_columns([span]) for row in rows(chunk)]
        else:
            records = list(RecordIterator((span,)))
            assert [r.value for r in records] == [b"%d" % r.offset for r in records]
            found += [record.offset for record in records]
    return found
