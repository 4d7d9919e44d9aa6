cdef class ReadBuffer:
    cdef readonly dict partitions
    cdef public int attention
    cdef public bint is_waiting
    cdef readonly object queue
    cdef readonly object on_room
    cdef object _on_data
    cpdef tell_if_waiting(self)
