cimport cython


@cython.final
@cython.freelist(8)
cdef class Plan:
    cdef readonly list calls
    cdef readonly list settled
    cdef readonly bint needs_producer_id
    cdef readonly bint needs_metadata
    cdef readonly double look_again_at

    cdef _begin(self)


@cython.final
@cython.freelist(8)
cdef class ResponseEffects:
    cdef readonly double now
    cdef readonly list settled
    cdef readonly dict leaders
    cdef readonly bint needs_metadata

    cdef _begin(self, double now)


@cython.locals(plan=Plan)
cpdef Plan new_plan()
@cython.locals(effects=ResponseEffects)
cpdef ResponseEffects new_effects(double now)
