cimport cython


cpdef int note_signals() except -1


@cython.final
cdef class Poller:
    cdef object _select
    cdef dict _keys
    cdef list _selected
    cdef int _epoll
    cdef void *_events

    cdef int wait(self, double seconds) except -1
    cdef object key(self, int index)
    cdef int mask(self, int index) except -1
