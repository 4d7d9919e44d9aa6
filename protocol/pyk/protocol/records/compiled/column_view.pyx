"""Arrow's buffers as C sees them, held while they are read. Only the compiled form needs this."""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy


@cython.final
cdef class NumbersView:
    """A buffer of int32 or int64 numbers, which need not be aligned."""

    def __cinit__(self, numbers, Py_ssize_t size):
        if size != 4 and size != 8:
            raise ValueError(f"numbers have 4 or 8 bytes, not {size}")
        PyObject_GetBuffer(numbers, &self.view, PyBUF_SIMPLE)
        if self.view.len % size:
            raise TypeError(f"{self.view.len} bytes are no whole count of numbers of {size} bytes")
        self.count = self.view.len // size
        self.size = size

    def __dealloc__(self):
        PyBuffer_Release(&self.view)

    cdef int64_t at(self, Py_ssize_t index) noexcept:
        """Return number ``index``, which the caller has checked."""
        cdef int32_t narrow
        cdef int64_t wide
        if self.size == 4:
            memcpy(&narrow, <const char *>self.view.buf + 4 * index, 4)
            return narrow
        memcpy(&wide, <const char *>self.view.buf + 8 * index, 8)
        return wide


@cython.final
cdef class ColumnView:
    """The buffers of a ``BinaryColumn``, which has checked that they go together."""

    def __cinit__(self, column):
        self.count = column.count
        self.first = column.first
        self.offsets = NumbersView(column.offsets, column.offset_bytes)
        PyObject_GetBuffer(column.data, &self.data, PyBUF_SIMPLE)
        if column.validity is not None:
            PyObject_GetBuffer(column.validity, &self.validity, PyBUF_SIMPLE)
        # Checked by the column itself when it was made; but its fields can be set since.
        if self.count < 0 or not 0 <= self.first < self.offsets.count - self.count:
            raise ValueError("the offsets of a column are too few for its values")
        if self.validity.buf is not NULL and self.first + self.count > self.validity.len * 8:
            raise ValueError("the validity of a column is too short for its values")

    def __dealloc__(self):
        PyBuffer_Release(&self.data)
        PyBuffer_Release(&self.validity)

    cdef Py_ssize_t find(self, Py_ssize_t row, const uint8_t **value) except -2:
        """Point ``value`` to the value of ``row`` and return its length, -1 for null."""
        cdef Py_ssize_t position = self.first + row
        cdef int64_t start, end
        if not 0 <= row < self.count:
            raise IndexError(f"row {row} of {self.count}")
        if self.validity.buf is not NULL:
            if not (<const uint8_t *>self.validity.buf)[position >> 3] >> (position & 7) & 1:
                return -1
        start, end = self.offsets.at(position), self.offsets.at(position + 1)
        if not 0 <= start <= end <= self.data.len:
            raise ValueError(f"row {row} lies at {start} to {end} of {self.data.len} bytes")
        value[0] = <const uint8_t *>self.data.buf + start
        return end - start
