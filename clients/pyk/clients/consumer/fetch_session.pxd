cimport cython


@cython.final
@cython.freelist(16)
cdef class WantedPartition:
    cdef readonly long long offset
    cdef readonly long long max_bytes
    cdef readonly long leader_epoch
    cdef readonly object topic_id
    cdef readonly long long version
    cpdef bint is_told(self, WantedPartition told)
    cpdef bint is_of_topic(self, WantedPartition told) except -1


@cython.final
cdef class FetchSession:
    cdef long _session_id
    cdef long _epoch
    cdef dict _told
    cdef dict _names
    @cython.locals(changed=dict, known=Py_ssize_t, how=WantedPartition)
    cpdef request(self, dict wanted, limits)
    cpdef answered(self, response)
    cpdef reset(self)
    cpdef name_of(self, topic_id)
    @cython.locals(changed=dict, known=Py_ssize_t, how=WantedPartition, told=WantedPartition)
    cdef tuple _changes(self, dict wanted)


@cython.locals(topics=dict, how=WantedPartition)
cdef list _fetch_topics(dict wanted)
@cython.locals(topics=dict, how=WantedPartition)
cdef list _forgotten_topics(dict forgotten)
@cython.locals(ordered=list, start=Py_ssize_t)
cpdef dict rotated(dict wanted, long turn)
