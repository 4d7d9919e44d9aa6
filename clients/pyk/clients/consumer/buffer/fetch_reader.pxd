cimport cython

from pyk.clients.consumer.buffer.fetch_buffer cimport FetchBuffer
from pyk.clients.consumer.buffer.partition_buffer cimport OpenSpan, PartitionBuffer
from pyk.clients.consumer.buffer.record_reader cimport RecordReader
from pyk.protocol.records.cursor cimport FetchedRecords
from pyk.protocol.records.reader cimport RecordIterator, RecordSpan
from pyk.protocol.records.record cimport ConsumerRecord


cdef class FetchReader(RecordReader):
    cdef FetchBuffer _buffer
    cdef object _deserializers
    cdef bint _deserializes
    cdef long _max_span
    cdef OpenSpan _nothing
    cdef OpenSpan _open
    cdef RecordIterator _iterator
    cdef list _handed
    cpdef ConsumerRecord next_record(self)
    cdef ConsumerRecord _next_deserialized(self)
    @cython.locals(opened=OpenSpan, span=RecordSpan, is_valid=bint)
    cdef bint _open_span_of(self, Reading reading) except -1
    @cython.locals(opened=OpenSpan)
    cpdef come_back(self)
    @cython.locals(opened=OpenSpan)
    cpdef finish(self)
    @cython.locals(partition=PartitionBuffer, has_room=bint)
    cpdef go_back(self)
    @cython.locals(partition=PartitionBuffer)
    cdef _finish_handed(self)
    @cython.locals(partition=PartitionBuffer)
    cdef _finish_open(self, OpenSpan opened)
    @cython.locals(partition=PartitionBuffer, whole=RecordSpan, taken=Py_ssize_t)
    cdef _close(self, OpenSpan opened)
    @cython.locals(partition=PartitionBuffer, part=PollResult, has_more=bint)
    cdef Reading _take_from(self, Reading reading, PollResult taken)
    @cython.locals(partition=PartitionBuffer)
    cdef _raise(self, Reading reading)
    @cython.locals(span=RecordSpan)
    cdef _read(self, Reading reading, PollResult part)
    @cython.locals(iterator=RecordIterator, count=Py_ssize_t)
    cdef RecordSpan _deserialized(self, Reading reading, RecordSpan span, list made)
    cdef RecordIterator _iterate(self, RecordSpan span)
    @cython.locals(partition=PartitionBuffer, reading=Reading, has_room=bint)
    cdef Reading _begin_next(self)
    @cython.locals(reading=Reading, has_room=bint)
    cdef Reading _begin(self, PartitionBuffer partition)
    @cython.locals(partition=PartitionBuffer, is_valid=bint, has_room=bint)
    cdef bint _end(self, Reading reading, OpenSpan opened) except -1
    cdef bint _uses_room(self, PartitionBuffer partition) except -1


@cython.final
cdef class PollResult:
    cdef Py_ssize_t left
    cdef list spans
    cdef list records
    cdef add(self, PollResult part)


@cython.final
cdef class Reading:
    cdef PartitionBuffer partition
    cdef long long version
    cdef bint is_drained
    cdef RecordSpan whole
    cdef object failure
    cdef long long _position
    cdef long _epoch
    cdef RecordSpan _unread
    cdef FetchedRecords _fetched
    cdef object _error
    cdef bint _has_given
    cdef bint _is_unreadable
    cdef bint _was_misled
    @cython.locals(span=RecordSpan)
    cdef RecordSpan next_span(self, Py_ssize_t max_records)
    @cython.locals(fetched=FetchedRecords, span=RecordSpan)
    cdef RecordSpan _next_fetched(self, Py_ssize_t max_records)
    cdef give_back(self, Py_ssize_t count, long long offset)
    @cython.locals(partition=PartitionBuffer)
    cdef publish(self)


cdef object _upcoming(OpenSpan opened)
