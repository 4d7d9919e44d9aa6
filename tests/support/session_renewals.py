"""Full load over sessions that are renewed each second, and an account of every record (KIP-368).

``python -m support.session_renewals MINUTES reference|apache`` prints the figures.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import attrs

from pyk.clients import Admin, BootstrapError, Consumer, KafkaError, NewTopic, Producer, Scram
from pyk.reference_broker import Cluster
from support.secure_kafka import SecureKafka

C = TypeVar("C", Admin, Consumer, Producer)

SESSION_MS = 1000
PARTITIONS = 2
PADDING = b"x" * 92
CHUNK = 100
MOST_UNREAD = 100_000
PATIENCE_SECONDS = 60
# A long run must not fill the disk.
TOPIC = {"retention.bytes": "200000000", "segment.bytes": "50000000"}


@attrs.define
class Account:
    """What became of the records of one producer."""

    acks: str
    sent: int = 0
    failed: int = 0
    read: int = 0
    """Each record counts once."""
    repeated: int = 0
    out_of_order: int = 0
    """Records that came for the first time after a later one of their partition."""
    position: int = 0
    """The number that is read next in the partition that is behind."""

    @property
    def missing(self) -> int:
        return self.sent - self.read


class Renewals(logging.Handler):
    """Counts what clients log of their connections."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.logins = 0
        self.ends: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = str(record.msg)
        self.logins += text.startswith("Logged in to")
        if text.startswith("The connection to"):
            self.ends.append(record.getMessage())


@contextmanager
def counted_renewals() -> Iterator[Renewals]:
    """Count logins and lost connections of all clients of this process."""
    logger, handler = logging.getLogger("pyk.clients.engine"), Renewals()
    level, propagates = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    try:
        yield handler
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagates


def renew_under_load(options: dict[str, Any], acks: str, seconds: float) -> Account:
    """Produce as fast as the records can be read, and account for each of them."""
    account, is_over = Account(acks), threading.Event()
    topic = f"renewals-{acks}-{time.monotonic_ns()}"
    with _started(lambda: Admin(**options)) as admin:
        admin.create_topics([NewTopic(topic, partitions=PARTITIONS, configs=TOPIC)])
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(_read, options, topic, account, is_over)
        try:
            _produce(options, topic, account, seconds)
        finally:
            is_over.set()
        reading.result()
    return account


def _produce(options: dict[str, Any], topic: str, account: Account, seconds: float) -> None:
    end, own = time.monotonic() + seconds, {"acks": account.acks, "linger_ms": 2}
    is_idempotent = account.acks == "all"
    with _started(lambda: Producer(enable_idempotence=is_idempotent, **own, **options)) as producer:
        while time.monotonic() < end:
            go_on_at = time.monotonic() + 1  # without acks, all that is unread may be lost
            while account.sent - account.position > MOST_UNREAD and time.monotonic() < go_on_at:
                time.sleep(0.001)  # the reader is the slower one
            deliveries = []
            for number in range(account.sent, account.sent + CHUNK):
                value = number.to_bytes(8, "big") + PADDING
                deliveries.append(producer.send(topic, value, partition=number % PARTITIONS))
            account.sent += CHUNK
            for delivery in deliveries:
                delivery.add_done_callback(lambda one: _note(account, one))


def _started(make: Callable[[], C]) -> C:
    """Return a client that is started; on a busy machine, its first session may end before that."""
    while True:
        try:
            client = make()
            client.start()
        except BootstrapError:
            continue
        return client


def _note(account: Account, delivery: Any) -> None:
    account.failed += delivery.exception() is not None


def _read(options: dict[str, Any], topic: str, account: Account, is_over: threading.Event) -> None:
    """Read until all is read, or until nothing comes any more."""
    last, seen, progress_at = [-1] * PARTITIONS, bytearray(), time.monotonic()
    reading = {"topics": [topic], "auto_offset_reset": "earliest"}
    with _started(lambda: Consumer(**reading, **options)) as consumer:
        while not (is_over.is_set() and account.missing == 0):
            for record in _polled(consumer):
                number = int.from_bytes((record.value or b"")[:8], "big")
                seen.extend(bytes(max(0, number + 1 - len(seen))))
                is_new, seen[number] = not seen[number], 1
                account.read += is_new
                account.repeated += not is_new
                account.out_of_order += is_new and number < last[record.partition]
                last[record.partition] = max(number, last[record.partition])
                account.position = min(last) + 1
                progress_at = time.monotonic()
            patience = PATIENCE_SECONDS if account.acks == "all" else PATIENCE_SECONDS / 10
            if is_over.is_set() and time.monotonic() > progress_at + patience:
                return


def _polled(consumer: Consumer) -> Any:
    try:
        return consumer.poll(1)
    except KafkaError as error:
        if error.retriable:  # half a minute without a login, on a busy machine
            return []
        raise


@contextmanager
def renewing_broker(name: str) -> Iterator[dict[str, Any]]:
    """Run a broker whose sessions last a second; yield what its clients need."""
    if name == "reference":
        config = {"connections.max.reauth.ms": str(SESSION_MS)}
        with Cluster(sasl={"bob": "bob-secret"}, config=config) as cluster:
            yield cluster.client_options()
        return
    with SecureKafka(session_ms=SESSION_MS) as kafka:
        yield {
            "bootstrap_servers": kafka.at("SASL_PLAINTEXT"),
            "security_protocol": "SASL_PLAINTEXT",
            "auth": Scram("bob", "bob-secret", "SCRAM-SHA-256"),
        }


def main(minutes: float, name: str) -> None:
    """Print the accounts of all kinds of acknowledgement, which run at the same time."""
    kinds = ("all", "1", "0")
    with renewing_broker(name) as options, counted_renewals() as renewals:
        with ThreadPoolExecutor(len(kinds)) as pool:
            for account in pool.map(
                lambda acks: renew_under_load(options, acks, minutes * 60), kinds
            ):
                print(name, account, "missing", account.missing, flush=True)
        print("logins", renewals.logins, "connections lost", len(renewals.ends))
        print("\n".join(sorted(set(renewals.ends))[:10]))


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2])
