cimport cython

from pyk.clients.producer.batching.budget cimport BufferBudget
from pyk.clients.producer.batching.buffer_waits cimport call_all
from pyk.clients.producer.batching.mutex cimport Mutex


@cython.final
cdef class Admission:
    cdef public Mutex mutex
    cdef public object refusal
    cdef public bint is_ended
    cdef readonly long long term
    cdef readonly object failure
    cdef Py_ssize_t _waiting
    cdef BufferBudget _budget

    cpdef check(self)
    cpdef check_term(self, long long term)
