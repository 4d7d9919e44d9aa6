cimport cython
from libc.stdint cimport int64_t, uint8_t


@cython.final
@cython.no_gc
cdef class NumbersView:
    cdef Py_buffer view
    cdef Py_ssize_t count
    cdef Py_ssize_t size
    cdef int64_t at(self, Py_ssize_t index) noexcept


@cython.final
@cython.no_gc
cdef class ColumnView:
    cdef NumbersView offsets
    cdef Py_buffer data
    cdef Py_buffer validity
    cdef Py_ssize_t first
    cdef Py_ssize_t count
    cdef Py_ssize_t find(self, Py_ssize_t row, const uint8_t **value) except -2
