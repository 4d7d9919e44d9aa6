cimport cython


cpdef int note_signals() except -1


@cython.final
cdef class Poller:
    cdef object _select
    cdef dict _keys
    cdef list _selected
    cdef int _epoll
    cdef void *_events

    cpdef int wait(self, double seconds) except -1
    cpdef object key(self, int index)
    cpdef int mask(self, int index) except -1
