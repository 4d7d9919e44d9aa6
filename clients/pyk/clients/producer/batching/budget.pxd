cimport cython


@cython.final
cdef class RoomRequest:
    cdef readonly Py_ssize_t size
    cdef readonly long long term
    cdef public object wake
    cdef public bint is_granted


@cython.final
cdef class BufferBudget:
    cdef readonly Py_ssize_t total
    cdef public Py_ssize_t available
    cdef object _requests

    cpdef bint has_room(self, Py_ssize_t size)
    cpdef bint is_contended(self)
    @cython.locals(wakes=list, request=RoomRequest)
    cpdef list grant(self)


@cython.locals(size=Py_ssize_t)
cpdef Py_ssize_t record_size(bytes key, bytes value, headers) except -1
