"""Find the field to blame when a message could not be encoded.

The generated encoders do not check values one by one. When one fails, this walks the message slowly
and says which value does not fit, without ever showing the value itself: it may be a secret.
"""

from __future__ import annotations

from struct import error as StructError  # noqa: N812
from struct import pack
from typing import Any

from pyk.protocol.errors import EncodeError
from pyk.protocol.fields import ArrayKind, Kind, StructKind
from pyk.protocol.structs import Struct, VersionedStruct

from .wire import LONGEST_STRING, record_data_size

FAULTS = (StructError, ValueError, TypeError, AttributeError, OverflowError)
"""The errors that encoding a value of the wrong type or size can raise."""


def explain(message: VersionedStruct, version: int, fault: Exception) -> EncodeError:
    """Return the error for a message that failed to encode with ``fault``."""
    words = _problem_of_struct(message, "", version) or str(fault)
    return EncodeError(f"{type(message).__name__} v{version}: {words}")


def _problem_of_struct(struct: Struct, path: str, version: int) -> str | None:
    for field in struct.fields:
        if version in field.versions:
            value, name = getattr(struct, field.name), f"{path}{field.name}"
            if value is None:
                problem = (
                    None
                    if version in field.nullable
                    else f"{name} is None, which version {version} cannot carry"
                )
            else:
                problem = _problem(field.kind, value, name, version)
            if problem:
                return problem
    return None


def _problem(kind: Kind, value: Any, path: str, version: int) -> str | None:
    if isinstance(kind, StructKind):
        if not isinstance(value, kind.struct):
            return f"{path} is of type {type(value).__name__}, not {kind.name}"
        return _problem_of_struct(value, f"{path}.", version)
    if isinstance(kind, ArrayKind):
        return _problem_of_array(kind.of, value, path, version)
    try:
        _try(kind, value)
    except Exception as fault:
        return f"{path}: a value of type {type(value).__name__} does not fit {kind.name}: {fault}"
    return None


def _problem_of_array(of: Kind, value: Any, path: str, version: int) -> str | None:
    if not isinstance(value, list | tuple):
        return f"{path} is of type {type(value).__name__}, not list"
    problems = (_problem(of, item, f"{path}[{index}]", version) for index, item in enumerate(value))
    return next(filter(None, problems), None)


def _try(kind: Kind, value: Any) -> None:
    """Raise if ``value`` cannot be a ``kind``."""
    if kind.fixed_format:
        pack(f">{kind.fixed_format}", value.bytes if kind.name == "uuid" else value)
    elif kind.name == "string":
        if len(value.encode()) > LONGEST_STRING:
            raise ValueError(f"longer than {LONGEST_STRING} bytes")
    elif kind.name == "bytes":
        bytearray().extend(value)
    else:
        record_data_size(value)
