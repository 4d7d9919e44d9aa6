cdef class FrameReader:
    cdef readonly object _receiver
    cdef Py_ssize_t _max_frame_bytes
    cdef public object _scratch
    cdef bytes _prefix
    cdef bytearray _frame
    cdef Py_ssize_t _frame_size
    cdef Py_ssize_t _frame_filled

    cpdef get_buffer(self, sizehint)
    cpdef buffer_updated(self, Py_ssize_t nbytes)
    cdef _cut_frames(self, Py_ssize_t filled)
    cdef _begin_frame(self, arrived, Py_ssize_t size)


cdef list _join_small(parts)
