cimport cython


@cython.final
cdef class FetchMemory:
    cdef readonly long long total
    cdef readonly long long request
    cdef readonly long long partition
    @cython.locals(share="long long", left="long long", whole="long long")
    cpdef long long grant(self, long long held, long long nodes)
