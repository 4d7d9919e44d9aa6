cimport cython

from pyk.clients.producer.batch cimport ProducerBatch
from pyk.clients.producer.budget cimport BufferBudget, RoomRequest, record_size
from pyk.clients.producer.delivery cimport Delivery
from pyk.clients.producer.mutex cimport Mutex
from pyk.clients.producer.topic_batches cimport TopicBatches


cdef class FlushRequest:
    cdef readonly set remaining
    cdef readonly object wake


@cython.final
cdef class RecordAccumulator:
    cdef readonly Py_ssize_t batch_size
    cdef readonly BufferBudget budget
    cdef readonly Py_ssize_t bulk_size
    cdef Py_ssize_t _max_record_size
    cdef readonly dict topics
    cdef readonly object new_builder
    cdef public object engine
    cdef double _linger
    cdef bint _is_adaptive
    cdef object _now
    cdef object _random
    cdef object _wakeup
    cdef object _refusal
    cdef Mutex _mutex
    cdef bint _must_wake
    cdef list _full
    cdef object _lingering
    cdef dict _unfinished
    cdef list _flushes
    cdef double _wake_at

    @cython.locals(size=Py_ssize_t, delivery=Delivery)
    cpdef Delivery append(
        self,
        TopicBatches topic,
        int partition,
        long long timestamp,
        bytes key,
        bytes value,
        headers,
        RoomRequest room=*,
        bint wakes=*,
    )
    # wake is no C method: it is handed on as a callable, and Cython makes wrong C of that,
    # which GCC 14 and Clang 16 refuse.
    @cython.locals(is_sticky=bint, batch=ProducerBatch, delivery=Delivery)
    cdef Delivery _place(
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
    cdef _fill(self, TopicBatches topic, int partition, source, Py_ssize_t start)
    @cython.locals(size=Py_ssize_t)
    cdef Py_ssize_t _extend(self, ProducerBatch batch, source, Py_ssize_t start) except -1
    cdef int _sticky_partition(self, TopicBatches topic) except -1
    cdef ProducerBatch _open(self, TopicBatches topic, int partition)
    @cython.locals(batch=ProducerBatch)
    cpdef tuple take(self, double now)
    cpdef bint close(self, ProducerBatch batch) except -1
    cpdef release(self, ProducerBatch batch)
    cdef _close(self, TopicBatches topic, ProducerBatch batch)
    cdef _close_full(self, TopicBatches topic, ProducerBatch batch)
    cdef _wake_for(self, double due_at)
    cdef _hurry(self)
    cdef _wake_if_due(self)
    cdef bint _hurries(self) except -1
    @cython.locals(batch=ProducerBatch)
    cdef _forget_if_empty(self, TopicBatches topic, int partition)
    cdef list _release(self, ProducerBatch batch)
