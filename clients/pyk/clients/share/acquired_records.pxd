cimport cython

from pyk.protocol.records.cursor cimport FetchedRecords
from pyk.protocol.records.reader cimport RecordSpan


@cython.final
cdef class Part:
    cdef readonly AcquiredRecords acquired
    cdef readonly RecordSpan span
    cdef readonly long long first
    cdef readonly long long last
    cdef readonly double locked_until
    cdef public bint is_kept
    cdef public long long unfinished
    cpdef Part after(self, Py_ssize_t count, long long last)
    cpdef Part before(self, Py_ssize_t count, long long last)


@cython.final
cdef class AcquiredRecords:
    cdef readonly object partition
    cdef readonly object topic_partition
    cdef readonly object node_id
    cdef public double locked_until
    cdef public bint is_lost
    cdef public bint is_not_renewed
    cdef public bint is_overtaken
    cdef public list expired
    cdef public list renewed
    cdef FetchedRecords _records
    cdef list _ranges
    cdef Py_ssize_t _index
    cdef long long _next
    cdef RecordSpan _batch
    cdef list _parts
    cdef list _handed
    cdef list _gaps
    cdef list _unread
    @cython.locals(part=Part, taken=Part, rest=Part, head=RecordSpan)
    cpdef Part next_part(self, Py_ssize_t max_records, double now)
    @cython.locals(
        first="long long", last="long long", end="long long", batch=RecordSpan, span=RecordSpan,
        rest=RecordSpan, is_whole=bint
    )
    cdef Part _read(self)
    @cython.locals(covered="long long")
    cdef _end(self, long long first, long long last)
    cdef _go_on(self, long long last)
    cdef _restore_renewed(self)
    @cython.locals(part=Part, unfinished=list, begin="long long", end="long long")
    cpdef finish(self, long long first, long long last)
