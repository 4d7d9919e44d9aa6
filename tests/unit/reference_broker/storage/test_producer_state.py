"""Sequences and epochs of idempotent producers."""

from __future__ import annotations

import pytest

from pyk.reference_broker.storage import InvalidProducerEpochError, OutOfOrderSequenceError
from pyk.reference_broker.storage.producer_entry import ProducerEntry
from pyk.reference_broker.storage.producer_snapshots import decode_snapshot, encode_snapshot
from pyk.reference_broker.storage.producer_state import ProducerStates
from pyk.runtime.virtual_time import START_MS
from support.logs import append, batch, open_log

MAX_SEQUENCE = (1 << 31) - 1


def produce(log, base_sequence, count=1, producer_epoch=0, producer_id=7):
    sent = batch(
        *[b"x"] * count,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
    )
    return log.append_as_leader(sent, leader_epoch=0)


def test_batches_follow_each_other_without_a_gap():
    log = open_log()

    offsets = [produce(log, sequence, count=2).base_offset for sequence in (0, 2, 4)]

    assert offsets == [0, 2, 4]


def test_unknown_producer_may_begin_anywhere():
    assert produce(open_log(), base_sequence=42).base_offset == 0


def test_producer_without_an_epoch_may_begin_anywhere():
    log = open_log()
    log.producers.restore([ProducerEntry(7)], 0)

    assert produce(log, base_sequence=42).base_offset == 0


def test_gap_is_refused_and_nothing_appended():
    log = open_log()
    produce(log, 0)

    with pytest.raises(OutOfOrderSequenceError, match="from sequence 2, expected was 1"):
        produce(log, 2)

    assert log.log_end_offset == 1


def test_retry_of_one_of_the_last_five_batches_gets_its_first_offsets():
    log = open_log()
    for number in range(6):
        produce(log, 3 * number, count=3)

    for number in range(1, 6):
        result = produce(log, 3 * number, count=3)
        assert result.is_duplicate
        assert (result.base_offset, result.last_offset) == (3 * number, 3 * number + 2)
    assert log.log_end_offset == 18
    with pytest.raises(OutOfOrderSequenceError):
        produce(log, 0, count=3)


def test_retry_with_other_batch_borders_is_refused():
    log = open_log()
    produce(log, 0, count=3)

    with pytest.raises(OutOfOrderSequenceError):
        produce(log, 0, count=2)


def test_retry_that_ends_at_the_same_sequence_but_begins_later_is_refused():
    log = open_log()
    produce(log, 0, count=3)

    with pytest.raises(OutOfOrderSequenceError):
        produce(log, 1, count=2)


def test_batch_of_a_newer_epoch_is_no_retry_of_the_one_with_its_sequence():
    log = open_log()
    produce(log, 0)

    result = produce(log, 0, producer_epoch=1)

    assert not result.is_duplicate
    assert result.base_offset == 1
    with pytest.raises(InvalidProducerEpochError):
        produce(log, 0)


def test_producer_that_has_written_nothing_has_no_last_batch():
    entry = ProducerEntry(7)

    assert (entry.last_sequence, entry.last_offset) == (-1, -1)


def test_newer_epoch_begins_again_at_zero():
    log = open_log()
    produce(log, 0, count=5)

    with pytest.raises(OutOfOrderSequenceError, match="expected was 0"):
        produce(log, 5, producer_epoch=1)
    assert produce(log, 0, producer_epoch=1).base_offset == 5
    assert produce(log, 1, producer_epoch=1).base_offset == 6


def test_older_epoch_is_fenced():
    log = open_log()
    produce(log, 0, producer_epoch=3)

    with pytest.raises(InvalidProducerEpochError, match="an instance with epoch 3 has taken over"):
        produce(log, 1, producer_epoch=2)


def test_sequence_goes_on_with_zero_after_the_largest():
    log = open_log()
    produce(log, MAX_SEQUENCE - 1, count=3)

    assert produce(log, 1).base_offset == 3
    assert produce(log, MAX_SEQUENCE - 1, count=3).is_duplicate


def test_producers_do_not_know_each_other():
    log = open_log()

    produce(log, 0, producer_id=1)
    produce(log, 0, producer_id=2)

    assert len(log.producers) == 2
    assert produce(log, 1, producer_id=1).base_offset == 2


def test_producer_that_writes_nothing_expires():
    log = open_log()
    produce(log, 0)

    assert log.producers.expire(START_MS + 999, expiration_ms=1000) == 0
    assert log.producers.expire(START_MS + 1000, expiration_ms=1000) == 1

    assert produce(log, 42).base_offset == 1


def test_truncation_forgets_the_epochs_that_were_cut_off():
    log = open_log()
    for sequence in range(3):
        produce(log, sequence)

    log.truncate_to(1)

    assert produce(log, 1).base_offset == 1


def test_follower_knows_producers_too():
    leader, follower = open_log(), open_log()
    produce(leader, 0, count=2)

    follower.append_as_follower(leader.reader.read(0, 1 << 20).read())

    entry = follower.producers.get(7)
    assert entry is not None
    assert (entry.last_sequence, entry.last_offset) == (1, 1)


def test_snapshot_file_is_kafkas():
    log = open_log()
    produce(log, 0, count=5, producer_id=0x0102, producer_epoch=3)

    content = encode_snapshot(log.producers)

    assert content[:2].hex() == "0001"
    assert content[6:].hex(" ", 2) == (
        "0000 0001 "  # producers
        "0000 0000 0000 0102 0003 "  # id, epoch
        "0000 0004 0000 0000 0000 0004 0000 0004 "  # last sequence, last offset, offset delta
        f"{(START_MS + 4).to_bytes(8).hex(' ', 2)} "
        "ffff ffff ffff ffff ffff ffff"  # coordinator epoch, first offset of a transaction
    )


def test_snapshot_is_read_as_it_was_written():
    log = open_log()
    produce(log, 0, count=5)
    produce(log, 5, count=2)
    produce(log, 9, producer_id=8)

    entries = decode_snapshot(encode_snapshot(log.producers))

    assert entries is not None
    assert [(e.producer_id, e.epoch, e.last_sequence, e.last_offset) for e in entries] == [
        (7, 0, 6, 6),
        (8, 0, 9, 7),
    ]
    # Kafka keeps only the last batch of each producer in a snapshot.
    assert entries[0].batches == log.producers.get(7).batches[-1:]


def test_snapshot_without_producers_is_read():
    assert decode_snapshot(encode_snapshot(ProducerStates())) == []


@pytest.mark.parametrize("position", range(56))
def test_damaged_snapshot_is_not_used(position):
    log = open_log()
    produce(log, 0)
    content = bytearray(encode_snapshot(log.producers))

    assert decode_snapshot(bytes(content[:position])) is None
    content[position] ^= 0x10
    assert decode_snapshot(bytes(content)) is None


def test_records_without_a_producer_id_are_not_remembered():
    log = open_log()
    append(log, b"x")

    assert len(log.producers) == 0
