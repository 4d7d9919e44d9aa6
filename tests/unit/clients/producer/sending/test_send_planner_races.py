"""Application threads append while the sender decides: each batch is sent exactly once."""

from __future__ import annotations

from pyk.clients.producer.sending.plan import Plan
from pyk.runtime.virtual_time import VirtualClock
from support.producer_parts import PARTITION, Routes, make_accumulator, make_planner, put

LINGER = 0.005
DELIVERY_TIMEOUT = 120.0


def batches_of(*plans: Plan) -> list[object]:
    return [batch for plan in plans for call in plan.calls for batch in call.batches]


def test_a_due_batch_that_becomes_full_while_the_sender_decides_is_sent_once():
    accumulator = make_accumulator(VirtualClock(), batch_size=200, linger=LINGER)
    planner = make_planner(accumulator, is_idempotent=False)
    put(accumulator, b"one")

    def fill_meanwhile(place):
        put(accumulator, b"x" * 150, b"x" * 150)
        return 1

    plans = [
        planner.poll(LINGER, Routes(fill_meanwhile)),
        planner.poll(LINGER, Routes(lambda place: 1)),
        planner.poll(LINGER, Routes(lambda place: 1)),
    ]

    sent = batches_of(*plans)
    assert len(sent) == len({id(batch) for batch in sent})
    assert sent[0].count == 1
    assert {batch.topic_partition for batch in sent} == {PARTITION}


def test_a_due_batch_that_becomes_full_while_it_expires_is_given_up_once():
    to_fill = [b"x" * 150, b"y" * 150]

    def fill_meanwhile(place):
        while to_fill:
            put(accumulator, to_fill.pop())
        return "no leader"

    accumulator = make_accumulator(VirtualClock(), batch_size=200, linger=LINGER)
    planner = make_planner(accumulator, why_unsent=fill_meanwhile)
    put(accumulator, b"one")
    planner.poll(LINGER, Routes(lambda place: None))

    first = planner.poll(DELIVERY_TIMEOUT + 1, Routes(lambda place: None))
    second = planner.poll(DELIVERY_TIMEOUT + 1, Routes(lambda place: None))

    assert first.settled == [], "it comes again, as one that is full"
    assert len({id(batch) for batch in second.settled}) == 3
    assert [batch.count for batch in second.settled] == [1, 1, 1]
