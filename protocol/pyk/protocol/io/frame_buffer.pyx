"""Memory for a frame that is about to be received into it.

The compiled form of ``frame_buffer.py``. Clearing what the kernel overwrites at once is a fifth of
the cost of reading columns.
"""

from cpython.bytearray cimport PyByteArray_FromStringAndSize, PyByteArray_Resize


def new_buffer(Py_ssize_t size):
    return PyByteArray_FromStringAndSize(NULL, size)


def grow(bytearray buffer not None, Py_ssize_t size):
    PyByteArray_Resize(buffer, size)
