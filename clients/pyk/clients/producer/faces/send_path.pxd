cimport cython

from pyk.clients.producer.arguments cimport as_partition, serialized
from pyk.clients.producer.batching.accumulator cimport RecordAccumulator
from pyk.clients.producer.batching.budget cimport RoomRequest
from pyk.clients.producer.batching.delivery cimport Delivery
from pyk.clients.producer.batching.topic_batches cimport TopicBatches
from pyk.runtime.system_clock cimport SystemClock


cdef class SendPath:
    cdef RecordAccumulator _accumulator
    cdef dict _topics
    cdef object _key_serializer
    cdef object _value_serializer
    cdef bint _serializes
    cdef object _partitioner
    cdef object _clock
    cdef object _own_loop
    cdef SystemClock _system_clock

    @cython.locals(delivery=Delivery, timestamp=cython.longlong)
    cdef object _send(
        self, topic, value, key, partition, headers, timestamp_ms, bint wakes=*
    )
    cdef long long _now_ms(self) except? -1
    @cython.locals(batches=TopicBatches, number=int)
    cpdef Delivery _append(
        self,
        topic,
        bytes value,
        bytes key,
        partition,
        headers,
        long long timestamp,
        RoomRequest room=*,
        bint wakes=*,
    )
    cdef int _choose(self, TopicBatches batches, bytes key, partition) except? -1


cdef class BlockingSendPath(SendPath):
    cdef object _wake


cdef class AsyncSendPath(SendPath):
    cdef unsigned int _sent

    @cython.locals(completed=CompletedSend)
    cdef object _async_send(
        self, topic, value, key, partition, headers, timestamp_ms, on_delivery
    )


@cython.final
@cython.no_gc
@cython.freelist(64)
cdef class CompletedSend:
    cdef Delivery _delivery
    cdef bint _must_yield
