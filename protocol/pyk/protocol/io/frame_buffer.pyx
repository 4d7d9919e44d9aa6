"""Memory for a frame that is about to be received into it.

The compiled form of ``frame_buffer.py``. Clearing what the kernel overwrites at once is a fifth of
the cost of reading columns.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport PyByteArray_FromStringAndSize, PyByteArray_Resize
from cpython.bytes cimport PyBytes_FromStringAndSize


def new_buffer(Py_ssize_t size):
    return PyByteArray_FromStringAndSize(NULL, size)


def grow(bytearray buffer not None, Py_ssize_t size):
    PyByteArray_Resize(buffer, size)


cpdef bytes cut(scratch, Py_ssize_t start, Py_ssize_t end):
    cdef Py_buffer view
    PyObject_GetBuffer(scratch, &view, PyBUF_SIMPLE)
    try:
        if not 0 <= start <= end <= view.len:
            raise IndexError(f"no bytes from {start} to {end} in {view.len}")
        return PyBytes_FromStringAndSize(<char *>view.buf + start, end - start)
    finally:
        PyBuffer_Release(&view)
