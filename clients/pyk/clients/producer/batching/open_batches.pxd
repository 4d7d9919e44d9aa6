cimport cython

from pyk.clients.producer.batching.batch cimport ProducerBatch, new_batch
from pyk.clients.producer.batching.budget cimport BufferBudget, RoomRequest
from pyk.clients.producer.batching.delivery cimport Delivery
from pyk.clients.producer.batching.flushes cimport Flushes
from pyk.clients.producer.batching.topic_batches cimport TopicBatches
from pyk.runtime.system_clock cimport SystemClock


@cython.final
cdef class OpenBatches:
    cdef readonly Py_ssize_t batch_size
    cdef readonly BufferBudget budget
    cdef readonly Flushes flushes
    cdef readonly dict topics
    cdef readonly dict unfinished
    cdef readonly object engine
    cdef public bint must_wake
    cdef double _linger
    cdef object _new_builder
    cdef bint _is_adaptive
    cdef object _clock
    cdef SystemClock _system_clock
    cdef object _random
    cdef list _full
    cdef object _lingering
    cdef double _wake_at

    cpdef bint has_full(self)
    cpdef double now(self) except? -1.0
    @cython.locals(is_sticky=bint, batch=ProducerBatch, delivery=Delivery)
    cpdef Delivery append(
        self,
        TopicBatches topic,
        int partition,
        long long timestamp,
        bytes key,
        bytes value,
        headers,
        Py_ssize_t size,
        RoomRequest room,
    )
    @cython.locals(number=int, batch=ProducerBatch, first_index=int, count=Py_ssize_t)
    cpdef fill(self, TopicBatches topic, int partition, source, Py_ssize_t start)
    cpdef int sticky_partition(self, TopicBatches topic) except -1
    @cython.locals(size=Py_ssize_t)
    cdef Py_ssize_t _extend(self, ProducerBatch batch, source, Py_ssize_t start) except -1
    @cython.locals(now=double)
    cdef ProducerBatch _open(self, TopicBatches topic, int partition)
    @cython.locals(batch=ProducerBatch)
    cdef _forget_if_empty(self, TopicBatches topic, int partition)
    cpdef tuple take(self, double now)
    @cython.locals(batch=ProducerBatch, hurries=bint, due=list)
    cdef list _take_due(self, double now)
    @cython.locals(oldest=ProducerBatch)
    cpdef double next_linger_end(self) except? -1.0
    cpdef bint close(self, ProducerBatch batch) except -1
    @cython.locals(topic=TopicBatches, wakes=list)
    cpdef list release(self, ProducerBatch batch)
    cpdef hurry(self)
    cdef bint _hurries(self) except -1
    cdef _wake_for(self, double due_at)
    cdef _close(self, TopicBatches topic, ProducerBatch batch)
    cdef _close_full(self, TopicBatches topic, ProducerBatch batch)
