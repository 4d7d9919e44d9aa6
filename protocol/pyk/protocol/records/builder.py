"""Build a record batch: append records, then seal it."""

from __future__ import annotations

from pyk.protocol.records.batch_header import write_header
from pyk.protocol.records.compression import Compression, check_available, compress
from pyk.protocol.records.layout import CONTROL, DELETE_HORIZON, HEADER_BYTES, TRANSACTIONAL
from pyk.protocol.records.record_buffer import RecordBuffer

_NONE = Compression.NONE  # looked up in the enum for each batch, it costs as much as a record


class RecordBatchBuilder(RecordBuffer):
    """One batch in the making: a :class:`RecordBuffer` that ends as a whole batch.

    ``max_bytes`` bounds its size before compression. A batch with ``delete_horizon_ms`` counts its
    timestamps from there, as compaction writes it.
    """

    __slots__ = ("_compression", "_delete_horizon_ms", "_is_transactional", "_level")

    def __init__(
        self,
        compression: Compression = Compression.NONE,
        level: int | None = None,
        max_bytes: int = 16_384,
        *,
        delete_horizon_ms: int | None = None,
    ) -> None:
        super().__init__(max_bytes, delete_horizon_ms)
        if compression is not _NONE:
            check_available(compression)
        self._take_format(compression, level, delete_horizon_ms, False)

    def _take_format(
        self,
        compression: Compression,
        level: int | None,
        delete_horizon_ms: int | None,
        is_transactional: bool,
    ) -> None:
        self._compression = compression
        self._level = level
        self._delete_horizon_ms = delete_horizon_ms
        self._is_transactional = is_transactional

    def seal(  # noqa: PLR0917 - keywords would cost a compiled caller more than the header
        self,
        producer_id: int = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
        is_transactional: bool = False,
        is_control: bool = False,
        last_offset_delta: int | None = None,
    ) -> memoryview:
        """Finish the batch and return all of it, CRC set; base offset 0, leader epoch -1.

        Without compression this is the buffer that was appended to, not a copy.
        ``last_offset_delta`` is for a batch whose last records were removed.
        """
        if last_offset_delta is None:
            last_offset_delta = self.next_offset_delta - 1
        attributes = self._attributes(is_transactional, is_control)
        return memoryview(
            self._seal(producer_id, producer_epoch, base_sequence, attributes, last_offset_delta)
        )

    def sealed(self, producer_id: int, producer_epoch: int, base_sequence: int) -> bytearray:
        """Finish a batch of a producer; return its bytes as ``seal`` does."""
        attributes = self._attributes(self._is_transactional, False)
        return self._seal(
            producer_id, producer_epoch, base_sequence, attributes, self.next_offset_delta - 1
        )

    def _seal(
        self,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        attributes: int,
        last_offset_delta: int,
    ) -> bytearray:
        if last_offset_delta < max(0, self.next_offset_delta - 1):
            raise ValueError(
                f"a batch of {self.count} records cannot end at offset delta {last_offset_delta}"
            )
        data = self.close()
        if self._compression is not _NONE:
            data = self._compressed(data)
        write_header(
            data,
            attributes,
            last_offset_delta,
            self.base_timestamp,
            self.max_timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            self.count,
        )
        return data

    def _compressed(self, data: bytearray) -> bytearray:
        compressed = bytearray(HEADER_BYTES)
        compressed += compress(self._compression, memoryview(data)[HEADER_BYTES:], self._level)
        return compressed

    def _attributes(self, is_transactional: bool, is_control: bool) -> int:
        attributes = 0 if self._compression is _NONE else self._compression.codec
        if is_transactional:
            attributes |= TRANSACTIONAL
        if is_control:
            attributes |= CONTROL
        if self._delete_horizon_ms is not None:
            attributes |= DELETE_HORIZON
        return attributes


class BatchFormat:
    """The properties that all batches of one producer share."""

    __slots__ = ("_compression", "_is_transactional", "_level")

    def __init__(
        self,
        compression: Compression = Compression.NONE,
        level: int | None = None,
        *,
        is_transactional: bool = False,
    ) -> None:
        check_available(compression)
        self._compression = compression
        self._level = level
        self._is_transactional = is_transactional

    def new_builder(self, max_bytes: int) -> RecordBatchBuilder:
        """Return a builder of such a batch; compiled, no arguments are parsed on the way."""
        builder = RecordBatchBuilder.__new__(RecordBatchBuilder)
        builder._start(max_bytes, False, -1)
        builder._take_format(self._compression, self._level, None, self._is_transactional)
        return builder
