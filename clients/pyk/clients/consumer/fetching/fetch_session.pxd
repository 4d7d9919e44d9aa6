cimport cython

from pyk.clients.consumer.fetching.fetch_call cimport FetchCall, FetchTerms, WantedPartition, new_call


@cython.final
cdef class FetchSession:
    cdef FetchTerms _terms
    cdef long _session_id
    cdef long _epoch
    cdef dict _told
    cdef dict _names
    cdef readonly bint uses_topic_ids
    @cython.locals(changed=dict, known=Py_ssize_t, call=FetchCall)
    cpdef FetchCall request(self, dict wanted, long max_wait_ms, long max_bytes)
    @cython.locals(session_id=long)
    cpdef answered(self, response)
    cpdef reset(self)
    cpdef name_of(self, topic_id)
    @cython.locals(changed=dict, known=Py_ssize_t, how=WantedPartition, told=WantedPartition)
    cdef tuple _changes(self, dict wanted)


@cython.locals(ordered=list, start=Py_ssize_t)
cpdef dict rotated(dict wanted, long turn)
