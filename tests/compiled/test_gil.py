"""Large work on record batches lets other threads run.

No thread has to release the GIL on request here, because the interval after which it is asked is
set to minutes. So another thread can only have counted if the work gave it up.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from pyk.protocol.records import (
    Compression,
    FetchedRecords,
    RecordBatchBuilder,
    parse_batch,
    read_columns,
    reader,
)
from pyk.protocol.records.compression import compress, decompress
from support.record_batches import NOW_MS

IS_COMPILED = not reader.__file__.endswith(".py")
MINUTES = 300.0
TRIES = 2_000
VALUES = [b"%0100d" % number for number in range(150_000)]

pytestmark = pytest.mark.skipif(not IS_COMPILED, reason="nothing is compiled: run `make native`")


class Counter:
    """A thread that counts whenever it gets the GIL, and gives it back each time."""

    def __init__(self) -> None:
        self.count = 0
        self._is_running = True
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while self._is_running:
            self.count += 1
            time.sleep(0)

    @contextmanager
    def running(self) -> Iterator[Counter]:
        before = sys.getswitchinterval()
        sys.setswitchinterval(MINUTES)
        self._thread.start()
        try:
            yield self
        finally:
            self._is_running = False
            sys.setswitchinterval(before)
            self._thread.join()

    def counted_during(self, work: Callable[[], object]) -> int:
        before = self.count
        work()
        return self.count - before


def sealed() -> memoryview:
    """Return a batch with 16 MiB of records, none of them large."""
    builder = RecordBatchBuilder(max_bytes=1 << 30)
    builder.extend_values(NOW_MS, VALUES)
    return builder.seal()


def check_crc() -> Callable[[], object]:
    batch = parse_batch(sealed())
    assert batch is not None
    return batch.check


def check_records() -> Callable[[], object]:
    batch = parse_batch(sealed())
    assert batch is not None
    return batch.open


def fill_columns() -> Callable[[], object]:
    span = FetchedRecords("orders", 0, sealed(), 0).next_span(1 << 30)
    assert span is not None
    return lambda: read_columns([span], ("offset", "value"))


WORK = {
    "the checksum": check_crc,
    "checking every record": check_records,
    "filling columns": fill_columns,
}


@pytest.mark.parametrize("prepare", WORK.values(), ids=WORK)
def test_other_threads_run_beside_large_work(prepare: Callable[[], Callable[[], object]]) -> None:
    work = prepare()

    with Counter().running() as counter:
        assert any(counter.counted_during(work) for _ in range(TRIES))


@pytest.mark.parametrize("codec", list(Compression)[1:])
def test_other_threads_run_beside_compression_and_decompression(codec: Compression) -> None:
    if codec is Compression.SNAPPY:
        pytest.importorskip("cramjam")
    data = b"".join(VALUES[:20_000])
    compressed = memoryview(compress(codec, data))

    with Counter().running() as counter:
        assert any(counter.counted_during(lambda: compress(codec, data)) for _ in range(TRIES))
        assert any(
            counter.counted_during(lambda: decompress(codec, compressed)) for _ in range(TRIES)
        )


def test_no_other_thread_runs_where_the_gil_is_kept():
    """Or the tests above could not fail."""
    builder = RecordBatchBuilder(max_bytes=1 << 30)

    with Counter().running() as counter:
        assert not counter.counted_during(lambda: builder.extend_values(NOW_MS, VALUES))
