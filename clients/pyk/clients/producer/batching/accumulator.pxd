cimport cython

from pyk.clients.producer.batching.admission cimport Admission
from pyk.clients.producer.batching.batch_drain cimport BatchDrain
from pyk.clients.producer.batching.budget cimport BufferBudget, RoomRequest, record_size
from pyk.clients.producer.batching.buffer_waits cimport BufferWaits
from pyk.clients.producer.batching.delivery cimport Delivery
from pyk.clients.producer.batching.mutex cimport Mutex
from pyk.clients.producer.batching.open_batches cimport OpenBatches
from pyk.clients.producer.batching.topic_batches cimport TopicBatches


@cython.final
cdef class RecordAccumulator:
    cdef readonly BufferBudget budget
    cdef readonly Py_ssize_t bulk_size
    cdef readonly dict topics
    cdef readonly object new_builder
    cdef public object wakeup
    cdef Py_ssize_t _max_record_size
    cdef readonly Admission admission
    cdef readonly BatchDrain drain
    cdef readonly BufferWaits waits
    cdef Mutex _mutex
    cdef OpenBatches _batches

    @cython.locals(size=Py_ssize_t, delivery=Delivery, has_room=bint)
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
    @cython.locals(admission=Admission)
    cdef _check(self, RoomRequest room)
    # wake is no C method: it is handed on as a callable, and Cython makes wrong C of that,
    # which GCC 14 and Clang 16 refuse.
    @cython.locals(batches=OpenBatches)
    cdef _wake_if_due(self)
