"""Decode one version of a message.

This is the plain form, which generates a Python function. The compiled one,
``compiled/decoding.pyx``, reads field by field as a table says, made from the same declarations.
Both raise the same errors.
"""

from __future__ import annotations

from .decoder import compile_decoder

__all__ = ["compile_decoder"]
