"""Callers that wait until all records that were accepted so far are settled. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pyk.clients.producer.batching.batch import ProducerBatch

Wake = Callable[[], object]


class FlushRequest:
    """A flush that waits for ``remaining`` batches; ``wake`` is called when all are settled."""

    __slots__ = ("remaining", "wake")

    def __init__(self, remaining: set[ProducerBatch], wake: Wake) -> None:
        self.remaining = remaining
        self.wake = wake


class Flushes:
    """The pending flushes. The accumulator's lock guards them."""

    __slots__ = ("requests",)

    def __init__(self) -> None:
        self.requests: list[FlushRequest] = []

    def begin(self, unfinished: Iterable[ProducerBatch], wake: Wake) -> FlushRequest:
        """Wait for these batches; call :meth:`end` afterwards."""
        request = FlushRequest(set(unfinished), wake)
        self.requests.append(request)
        return request

    def end(self, request: FlushRequest) -> None:
        self.requests.remove(request)

    def replace(self, batch: ProducerBatch, pieces: Iterable[ProducerBatch]) -> None:
        """Wait for ``pieces`` instead of a batch that was split."""
        for request in self.requests:
            if batch in request.remaining:
                request.remaining.remove(batch)
                request.remaining.update(pieces)

    def settled(self, batch: ProducerBatch, wakes: list[Wake]) -> None:
        """Remove a settled batch; append the callbacks to run to ``wakes``."""
        request: FlushRequest
        for request in self.requests:
            if batch in request.remaining:
                request.remaining.remove(batch)
                if not request.remaining:
                    wakes.append(request.wake)
