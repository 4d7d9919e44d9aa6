cimport cython

from pyk.protocol.records.batch_header cimport BatchHeader


@cython.final
cdef class FetchedEnd:
    cdef readonly long long next_offset
    cdef readonly long leader_epoch
    cdef readonly bint has_batch


@cython.locals(
    position=Py_ssize_t, size=Py_ssize_t, end="long long", next_offset="long long",
    following="long long", offset="long long", header=BatchHeader, delta=long,
    epoch=long, batch_epoch=long,
)
cpdef FetchedEnd find_end(object data, long long fetch_offset)
