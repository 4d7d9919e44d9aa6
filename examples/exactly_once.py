"""Turn each order into an invoice exactly once, also if the program is killed at any moment.

python examples/exactly_once.py localhost:9092 billing-1

Each instance has an id of its own as the second argument, the same one whenever it starts again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from pyk.clients import Consumer, Producer


def invoice(order: bytes) -> bytes:
    """Return the invoice for an order."""
    return b"invoice for " + order


def bill(
    bootstrap: str,
    *,
    transactional_id: str = "billing-1",
    transform: Callable[[bytes], bytes] = invoice,
    goes_on: Callable[[], bool] = lambda: True,
) -> None:
    """Write an invoice for each order, and commit both in one transaction.

    Each instance of the program needs a transactional_id of its own, and keeps it when it starts
    again: the brokers then abort what the instance before has left open.
    """
    with (
        Producer(bootstrap, transactional_id=transactional_id) as producer,
        Consumer(
            bootstrap,
            topics=["orders"],
            group_id="billing",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
        ) as consumer,
    ):
        while goes_on():
            records = consumer.poll(timeout=0.5)
            if not records:
                continue
            with producer.transaction(consumer) as transaction:
                for record in records:
                    if record.value is not None:
                        producer.send("invoices", transform(record.value), key=record.key)
                transaction.send_offsets(consumer)


if __name__ == "__main__":
    bootstrap = sys.argv[1] if len(sys.argv) > 1 else "localhost:9092"
    name = sys.argv[2] if len(sys.argv) > 2 else "billing-1"
    bill(bootstrap, transactional_id=name)
