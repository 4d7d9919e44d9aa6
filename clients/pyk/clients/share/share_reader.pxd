cimport cython

from pyk.clients.consumer.buffer.read_buffer cimport ReadBuffer
from pyk.clients.consumer.buffer.record_reader cimport RecordReader
from pyk.clients.share.acquired_records cimport AcquiredRecords, Part
from pyk.clients.share.held_records cimport HeldRecords
from pyk.protocol.records.reader cimport RecordIterator, RecordSpan
from pyk.protocol.records.record cimport ConsumerRecord, owner_of


@cython.final
cdef class OpenPart:
    cdef Part part
    cdef RecordIterator iterator
    cdef long long taken_before
    cdef long long first
    cdef long long in_hand


cdef class ShareReader(RecordReader):
    cdef readonly HeldRecords held
    cdef public bint leaves_to_handlers
    cdef bint _is_explicit
    cdef ReadBuffer _buffer
    cdef object _now
    cdef object _deserializers
    cdef bint _deserializes
    cdef OpenPart _nothing
    cdef OpenPart _open
    cdef RecordIterator _iterator
    cdef list _handed
    cpdef ConsumerRecord next_record(self)
    @cython.locals(held=HeldRecords, opened=OpenPart, record=ConsumerRecord)
    cdef ConsumerRecord _next_with_care(self)
    cpdef come_back(self)
    cpdef finish(self)
    cpdef hold_handed(self)
    @cython.locals(held=HeldRecords)
    cpdef bint acknowledge(self, record, kind) except -1
    cpdef go_back(self)
    cdef _accept_open(self, OpenPart opened)
    @cython.locals(opened=OpenPart, part=Part, taken="long long")
    cdef _leave_open(self)
    cdef _return(self, Part part)
    cdef RecordIterator _iterate(self, RecordSpan span)
