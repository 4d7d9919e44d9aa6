cimport cython

from pyk.protocol.connection cimport SelfCodedRequest
from pyk.protocol.wire_numbers cimport append_bytes, put_int32, put_int64


cdef Py_ssize_t NOWHERE
cdef int _OFFSET


@cython.final
@cython.freelist(16)
cdef class WantedPartition:
    cdef readonly long long offset
    cdef readonly long long max_bytes
    cdef readonly long leader_epoch
    cdef readonly object topic_id
    cdef readonly long long version
    cdef _begin(
        self,
        long long offset,
        long long max_bytes,
        long leader_epoch,
        topic_id,
        long long version,
    )
    cpdef bint is_told(self, WantedPartition told)
    cpdef bint is_of_topic(self, topic_id) except -1


@cython.locals(wanted=WantedPartition)
cpdef WantedPartition new_wanted(
    long long offset, long long max_bytes, long leader_epoch, topic_id, long long version
)


@cython.final
cdef class FetchTerms:
    cdef readonly object min_bytes
    cdef readonly object isolation_level
    cdef readonly object rack
    cdef readonly dict templates


# Not final: Cython would refuse to let it override the methods of its base.
cdef class FetchCall(SelfCodedRequest):
    cdef readonly long session_id
    cdef readonly long epoch
    cdef readonly long max_wait_ms
    cdef readonly long max_bytes
    cdef public dict wanted
    cdef public dict forgotten
    cdef FetchTerms _terms
    cdef _begin(
        self,
        FetchTerms terms,
        long session_id,
        long epoch,
        long max_wait_ms,
        long max_bytes,
        dict wanted,
    )
    @cython.locals(how=WantedPartition, template=FetchTemplate)
    cpdef list encode_parts(self, version, bytearray out)


@cython.locals(call=FetchCall)
cpdef FetchCall new_call(
    FetchTerms terms, long session_id, long epoch, long max_wait_ms, long max_bytes, dict wanted
)


@cython.final
cdef class FetchTemplate:
    cdef readonly int version
    cdef readonly object topic_id
    cdef bytes _bytes
    cdef list _number_positions
    @cython.locals(start=Py_ssize_t, position=Py_ssize_t)
    cdef fill(self, FetchCall call, long number, WantedPartition how, bytearray out)
    @cython.locals(position=Py_ssize_t)
    cdef _put(self, bytearray out, Py_ssize_t start, Py_ssize_t number, int value)


@cython.locals(how=WantedPartition)
cdef list _fetch_topics(dict wanted)
@cython.locals(how=WantedPartition)
cdef list _forgotten_topics(dict forgotten)
