cimport cython

from pyk.clients.producer.delivery cimport BatchResult, Delivery
from pyk.protocol.records.builder cimport RecordBatchBuilder


@cython.final
cdef class ProducerBatch:
    cdef readonly str topic
    cdef readonly int partition
    cdef readonly object place
    cdef readonly double created_at
    cdef readonly BatchResult result
    cdef public bint is_open
    cdef readonly int count
    cdef readonly Py_ssize_t size
    cdef public Py_ssize_t charged_bytes
    cdef readonly object data
    cdef readonly long long producer_id
    cdef readonly int producer_epoch
    cdef readonly int base_sequence
    cdef public int attempts
    cdef public double retry_at
    cdef public bint may_be_written
    cdef public bint is_in_flight
    cdef public bint is_given_up
    cdef public object last_error
    cdef RecordBatchBuilder _builder

    @cython.locals(delivery=Delivery, builder=RecordBatchBuilder, index=int)
    cpdef Delivery append(self, long long timestamp, key, value, headers)
    @cython.locals(builder=RecordBatchBuilder)
    cpdef seal(self, long long producer_id=*, int producer_epoch=*, int base_sequence=*)
    cdef _stamp(self, long long producer_id, int producer_epoch, int base_sequence)
