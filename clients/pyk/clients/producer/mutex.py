"""The lock of the accumulator; ``mutex.pyx`` is the compiled form."""

from __future__ import annotations

from threading import Lock as Mutex

__all__ = ["Mutex"]
