"""When copies are waited for, so that what was read may be committed."""

from __future__ import annotations

from typing import Any

from pyk.clients import ConsumerRecord
from pyk.command_line.work.copying import FLUSH_SECONDS, CopyPrinter


class Acknowledged:
    """A producer whose records are acknowledged when it is flushed."""

    flushes = 0

    def send(self, *_: object, **__: object) -> Any:
        return Sent(self)

    def flush(self) -> None:
        self.flushes += 1


class Sent:
    def __init__(self, producer: Acknowledged) -> None:
        self._producer, self._flushes = producer, producer.flushes

    def done(self) -> bool:
        return self._producer.flushes > self._flushes

    def result(self) -> None:
        assert self.done()


def test_copies_are_waited_for_once_a_second_and_at_the_end() -> None:
    client: Any = Acknowledged()
    now = [0.0]
    copier = CopyPrinter(client, "t", {0}, keeps_partitions=False, clock=lambda: now[0])
    records: Any = [ConsumerRecord("s", 0, 0, value=b"v")]

    answers = []
    for moment in (0.0, FLUSH_SECONDS - 0.01, FLUSH_SECONDS, FLUSH_SECONDS * 1.5):
        now[0] = moment
        copier.take(records, None)
        answers.append((copier.flush(), client.flushes))
    copier.finish()

    assert answers == [(False, 0), (False, 0), (True, 1), (False, 1)]
    assert copier.flush(), "all are acknowledged, so what was read may be committed"
    assert client.flushes == 2
