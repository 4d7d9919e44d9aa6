from pyk.clients.consumer.partition_buffer cimport PartitionBuffer
from pyk.protocol.records.cursor cimport FetchedRecords
from pyk.protocol.records.reader cimport RecordIterator, RecordSpan
from pyk.protocol.records.record cimport ConsumerRecord


cdef class FetchBuffer:
    cdef readonly dict partitions
    cdef public int attention
    cdef public long long calls
    cdef public long long taken
    cdef public long long polled
    cdef public bint is_waiting
    cdef public bint wants_room
    cdef object _on_data
    cdef object _on_room
    cdef object _deserializers
    cdef bint _deserializes
    cdef long _max_span
    cdef object _queue
    cdef object _queue_lock
    cdef RecordIterator _iterator
    cdef RecordSpan _span
    cdef PartitionBuffer _current
    cdef long _current_version
    cdef long long _taken_before
    cdef long long _in_hand
    cdef list _handed
    cpdef ConsumerRecord next_record(self)
    cdef ConsumerRecord _next_deserialized(self)
    cdef _enqueue(self, PartitionBuffer partition)
    cdef _clear(self, PartitionBuffer partition)
    cdef bint _is_current(self, PartitionBuffer partition)
    cdef _close_span(self)
    cdef _forget_span(self)
    cdef RecordIterator _iterate(self, RecordSpan span)
    cdef PartitionBuffer _dequeue(self)
    cdef RecordSpan _next_span(self, PartitionBuffer partition, object max_records)
    cdef _was_told(self, PartitionBuffer partition, object error)
    cdef FetchedRecords _open_fetch(self, PartitionBuffer partition)
    cdef _drop_fetch(self, PartitionBuffer partition)
    cdef _drop_fetches(self, PartitionBuffer partition)
    cdef _make_room(self, PartitionBuffer partition)
