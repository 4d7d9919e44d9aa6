"""Handle the records of a topic one after the other, and stop cleanly on SIGTERM and Ctrl-C.

Offsets are committed by hand, after the work is done: a record is handled again if the worker dies
in between, and never skipped. Start several; they share the partitions.

    python examples/worker.py localhost:9092
"""

from __future__ import annotations

import json
import logging
import signal
import sys
from typing import Any

from pyk.clients import CommitFailedError, Consumer, ConsumerRecord, StringDeserializer

log = logging.getLogger("worker")


class Stop:
    """Remembers that the process is to stop. A signal may come at any moment."""

    def __init__(self) -> None:
        self.is_requested = False
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, self._request)

    def _request(self, *_: object) -> None:
        self.is_requested = True


def handle(record: ConsumerRecord[str, dict[str, Any]]) -> None:
    """Do the work: here, print it."""
    print(f"{record.key} ordered {record.value['item']}", flush=True)


def work(bootstrap: str, stop: Stop) -> None:
    with Consumer[str, dict[str, Any]](
        bootstrap,
        topics=["orders"],
        group_id="kitchen",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        key_deserializer=StringDeserializer(),
        value_deserializer=json.loads,
    ) as consumer:
        while not stop.is_requested:
            batch = consumer.poll(timeout=0.5)
            for record in batch:
                handle(record)
            if batch:
                try:
                    consumer.commit(batch)
                except CommitFailedError as error:  # another worker has them now and handles them
                    log.warning("%s", error)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    work(sys.argv[1] if len(sys.argv) > 1 else "localhost:9092", Stop())
