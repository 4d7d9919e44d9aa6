cimport cython

from pyk.clients.producer.batching.delivery cimport BatchResult, Delivery, new_result
from pyk.protocol.records.builder cimport RecordBatchBuilder


@cython.final
@cython.freelist(64)
cdef class ProducerBatch:
    cdef readonly str topic
    cdef readonly int partition
    cdef readonly object topic_partition
    cdef readonly double created_at
    cdef readonly BatchResult result
    cdef public bint is_open
    cdef readonly int count
    cdef readonly Py_ssize_t size
    cdef public Py_ssize_t charged_bytes
    cdef readonly bytearray data
    cdef readonly long long producer_id
    cdef readonly int producer_epoch
    cdef readonly int base_sequence
    cdef public int attempts
    cdef public double retry_at
    cdef public bint may_be_written
    cdef public bint is_in_flight
    cdef public bint is_given_up
    cdef public object last_error
    cdef public object topic_id
    cdef readonly object error
    cdef readonly dict record_errors
    cdef public long long base_offset
    cdef public long long log_append_time
    cdef RecordBatchBuilder _builder

    cdef _begin(
        self,
        str topic,
        int partition,
        topic_partition,
        RecordBatchBuilder builder,
        double created_at,
        engine,
    )
    @cython.locals(delivery=Delivery, builder=RecordBatchBuilder, index=int)
    cpdef Delivery append(self, long long timestamp, key, value, headers)
    @cython.locals(builder=RecordBatchBuilder)
    cpdef seal(self, long long producer_id=*, int producer_epoch=*, int base_sequence=*)
    cdef _stamp(self, long long producer_id, int producer_epoch, int base_sequence)
    cpdef failed(self, error, record_errors=*)
    cpdef hand_out(self)


@cython.locals(batch=ProducerBatch)
cpdef ProducerBatch new_batch(
    str topic, int partition, topic_partition, RecordBatchBuilder builder, double created_at, engine
)
