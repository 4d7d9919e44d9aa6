cimport cython

from pyk.clients.producer.batching.budget cimport BufferBudget
from pyk.clients.producer.batching.mutex cimport Mutex
from pyk.clients.producer.batching.open_batches cimport OpenBatches


@cython.final
cdef class BufferWaits:
    cdef Mutex mutex
    cdef OpenBatches _batches
    cdef BufferBudget _budget
    cdef object _wake_sender


cpdef call_all(list wakes)
