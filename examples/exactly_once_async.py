"""The same as exactly_once.py with asyncio: an invoice for each order, exactly once.

python examples/exactly_once_async.py localhost:9092 billing-1

Each instance has an id of its own as the second argument, the same one whenever it starts again.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

from pyk.clients import AsyncConsumer, AsyncProducer


def invoice(order: bytes) -> bytes:
    """Return the invoice for an order."""
    return b"invoice for " + order


async def bill(
    bootstrap: str,
    *,
    transactional_id: str = "billing-1",
    transform: Callable[[bytes], bytes] = invoice,
    goes_on: Callable[[], bool] = lambda: True,
) -> None:
    """Write an invoice for each order, and commit both in one transaction."""
    async with (
        AsyncProducer(bootstrap, transactional_id=transactional_id) as producer,
        AsyncConsumer(
            bootstrap,
            topics=["orders"],
            group_id="billing",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
        ) as consumer,
    ):
        while goes_on():
            records = await consumer.poll(timeout=0.5)
            if not records:
                continue
            async with producer.transaction(consumer) as transaction:
                for record in records:
                    if record.value is not None:
                        await producer.send("invoices", transform(record.value), key=record.key)
                await transaction.send_offsets(consumer)


if __name__ == "__main__":
    bootstrap = sys.argv[1] if len(sys.argv) > 1 else "localhost:9092"
    name = sys.argv[2] if len(sys.argv) > 2 else "billing-1"
    asyncio.run(bill(bootstrap, transactional_id=name))
