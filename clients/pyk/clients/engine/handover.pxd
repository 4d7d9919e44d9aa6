cimport cython

cdef int MOST_NAPS_BESIDE_CALLER


@cython.final
cdef class Handover:
    cdef public double grace
    cdef public object driver
    cdef public bint is_urgent
    cdef public bint is_ending
    cdef readonly double next_timer
    cdef readonly double nap_ends_at
    cdef double _left_at
    cdef long long _moves
    cdef long long _moves_seen
    cdef int _naps_beside_caller
    cdef bint _must_tell

    @cython.locals(has_moved=bint)
    cpdef background_looks(self, double now, double next_timer)
    cpdef bint caller_comes(self) except -1
    cpdef bint caller_leaves(self, double now) except -1
    cpdef bint is_needed(self) except -1
    cpdef end(self)
    cpdef bint naps_again(self, double now) noexcept nogil
    cdef double _nap(self, double seconds, double now, double next_timer) except? -1.0
    @cython.locals(ends_at=double)
    cdef void _note_nap(self, double seconds, double now) noexcept nogil
