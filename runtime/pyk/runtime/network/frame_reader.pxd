cimport cython

from pyk.runtime.network.frame_buffer cimport cut, frame_size


cdef class FrameReader:
    cdef readonly object _receiver
    cdef Py_ssize_t _max_frame_bytes
    cdef public object _scratch
    cdef bytes _prefix
    cdef bytearray _frame
    cdef Py_ssize_t _frame_size
    cdef Py_ssize_t _frame_filled

    cdef room(self)
    cdef arrived(self, Py_ssize_t count)
    @cython.locals(start=Py_ssize_t, size=Py_ssize_t, body=Py_ssize_t, end=Py_ssize_t)
    cdef _cut_frames(self, Py_ssize_t filled)
    cdef _begin_frame(self, arrived, Py_ssize_t size)
