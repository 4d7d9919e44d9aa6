cimport cython

from pyk.protocol.wire_numbers cimport get_int32, get_int64


@cython.final
cdef class FetchedEnd:
    cdef readonly long long next_offset
    cdef readonly long leader_epoch
    cdef readonly bint has_batch


@cython.locals(
    position=Py_ssize_t, size=Py_ssize_t, end=Py_ssize_t, next_offset="long long",
    behind="long long", offset="long long", length=long, magic=int, delta=long,
    epoch=long, batch_epoch=long,
)
cpdef FetchedEnd find_end(object data, long long fetch_offset)
