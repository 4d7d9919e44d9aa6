"""Field options: what a class says about each of its fields, from numbers to lists of structs."""

from __future__ import annotations

from typing import Any, TypeVar

from .field import NO_TAGGED_FIELDS, ZERO_UUID, Field, Kind, RecordData
from .structs import Struct

__all__ = [
    "NO_TAGGED_FIELDS",
    "ZERO_UUID",
    "ArrayKind",
    "Field",
    "Kind",
    "RecordData",
    "StructKind",
    "array",
    "binary",
    "boolean",
    "float64",
    "has_records",
    "int8",
    "int16",
    "int32",
    "int64",
    "nested",
    "records",
    "shared_default",
    "string",
    "uint16",
    "uint32",
    "uuid",
]

S = TypeVar("S", bound=Struct)


class ArrayKind(Kind):
    """A list of values of one kind."""

    def __init__(self, of: Kind) -> None:
        super().__init__(f"[]{of.name}", zero=())
        self.of = of


class StructKind(Kind):
    """A struct inside another."""

    def __init__(self, struct: type[Struct], zero: Struct | None = None) -> None:
        super().__init__(struct.__name__, zero)
        self.struct = struct


boolean = Kind("bool", zero=False, fixed_format="?")
int8 = Kind("int8", zero=0, fixed_format="b")
int16 = Kind("int16", zero=0, fixed_format="h")
int32 = Kind("int32", zero=0, fixed_format="i")
int64 = Kind("int64", zero=0, fixed_format="q")
uint16 = Kind("uint16", zero=0, fixed_format="H")
uint32 = Kind("uint32", zero=0, fixed_format="I")
float64 = Kind("float64", zero=0.0, fixed_format="d")
uuid = Kind("uuid", zero=ZERO_UUID, fixed_format="16s")
string = Kind("string", zero="")
binary = Kind("bytes", zero=b"")
records = Kind("records", zero=b"")


def nested(struct: type[Struct], **options: Any) -> Any:
    """Return the option of a field that holds one ``struct``."""
    return StructKind(struct, shared_default(struct))(**options)


def array(of: Kind | type[Struct], **options: Any) -> Any:
    """Return the option of a field that holds a list of ``of``."""
    return ArrayKind(of if isinstance(of, Kind) else StructKind(of))(**options)


def shared_default(struct: type[S]) -> S:
    """Return an immutable ``struct`` of defaults that all messages share.

    A fetch response has three of them per partition, which are nearly always left alone.
    """

    def refuse(self: S, name: str, value: object = None) -> None:
        raise AttributeError(
            f"this {struct.__name__} is the default that all messages share: assign a new one"
        )

    methods = {
        "__slots__": (),
        "__setattr__": refuse,
        "__delattr__": refuse,
        "__reduce__": lambda self: (struct, ()),  # copies are structs like any other
    }
    default = struct()
    default.__class__ = type(struct.__name__, (struct,), methods)
    return default


def has_records(struct: type[Struct]) -> bool:
    """Return whether there is record data anywhere in ``struct``."""
    return any(_is_record_data(field.kind) for field in struct.fields)


def _is_record_data(kind: Kind) -> bool:
    if isinstance(kind, ArrayKind):
        return _is_record_data(kind.of)
    return has_records(kind.struct) if isinstance(kind, StructKind) else kind is records
