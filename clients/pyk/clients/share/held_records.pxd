cimport cython

from pyk.clients.share.acknowledgements cimport Acknowledgements
from pyk.clients.share.acquired_records cimport AcquiredRecords, Part


@cython.final
cdef class Held:
    cdef readonly Acknowledgements acknowledgements
    cdef readonly long long undecided


@cython.final
cdef class HeldRecords:
    cdef readonly long long undecided
    cdef dict _held
    cdef object _outbox
    cpdef check(self)
    cpdef hold(self, Part part)
    cpdef hold_one(self, Part part, long long first, long long offset)
    @cython.locals(held=Held)
    cdef _add(self, Part part, long long first, long long last, long long count)
    @cython.locals(held=Held)
    cdef Held _of(self, Part part)
    @cython.locals(held=Held)
    cpdef bint decide(self, AcquiredRecords acquired, long long offset, long kind) except -1
    @cython.locals(
        acquired=AcquiredRecords, held=Held, decided=Acknowledgements, first="long long",
        last="long long", kind=long
    )
    cpdef send_decided(self)
