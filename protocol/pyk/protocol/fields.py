"""Field options: what a message class says about each field, and all that the codec knows of it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from uuid import UUID

from pyk.runtime import slotted

from .names import camel_case
from .versions import NO_VERSIONS, VersionRange

if TYPE_CHECKING:
    from .schema import Struct

S = TypeVar("S", bound="Struct")

ZERO_UUID = UUID(int=0)
"""Kafka's "no uuid"."""

NO_TAGGED_FIELDS: Mapping[int, bytes] = MappingProxyType({})
"""What a struct without unknown tagged fields has for them."""

RecordData: TypeAlias = Any
"""What a ``records`` field holds. Decoding gives a memoryview of the frame; encoding takes any
bytes-like object, a list of them, or an object with ``__len__`` that the transport knows how to
send (a file range). No type says "a memoryview when read, any of these when set", hence Any."""


class Kind:
    """A type of the wire format. Calling it gives the option of a field of that type."""

    def __init__(self, name: str, zero: object, fixed_format: str = "") -> None:
        self.name = name
        self.zero = zero
        self.fixed_format = fixed_format
        """The ``struct`` format of a value; empty if its size varies."""

    def __call__(
        self,
        *,
        versions: str = "0+",
        nullable: str = "none",
        default: Any = ...,
        tag: int | None = None,
        ignorable: bool = False,
        secret: bool = False,
        always_classic: bool = False,
    ) -> Any:
        """Return the option of one field: a ``slotted.field`` that carries a :class:`Field`.

        ``versions`` have the field; ``nullable`` ones allow null in it. With ``tag`` it is tagged.
        ``ignorable``: a version that lacks the field drops its value instead of refusing it.
        ``secret`` values are left out of ``repr``. ``always_classic``: never compact.
        """
        field = Field(
            kind=self,
            versions=VersionRange.parse(versions),
            nullable=VersionRange.parse(nullable),
            default=self.zero if default is ... else default,
            tag=tag,
            ignorable=ignorable,
            secret=secret,
            always_classic=always_classic,
        )
        if field.default == ():
            return slotted.field(factory=list, metadata=field)
        return slotted.field(default=field.default, metadata=field)

    def __repr__(self) -> str:
        return self.name


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


@slotted.frozen
class Field:
    """All that the codec knows about one field of a struct."""

    kind: Kind
    versions: VersionRange
    nullable: VersionRange
    default: Any
    """A value that nobody can change; ``()`` stands for an empty list."""
    tag: int | None
    ignorable: bool
    secret: bool
    always_classic: bool
    name: str = ""

    @property
    def tagged(self) -> VersionRange:
        return NO_VERSIONS if self.tag is None else self.versions

    def is_default(self, value: object) -> bool:
        """Say whether ``value`` is what the field has when nobody sets it."""
        return bool(value == ([] if self.default == () else self.default))

    @property
    def json_name(self) -> str:
        """Kafka's name of the field with a small first letter."""
        name = camel_case(self.name)
        return name[0].lower() + name[1:]


def shared_default(struct: type[S]) -> S:
    """Return a ``struct`` of defaults that all messages share, because nobody can change it.

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
    """Say whether there is record data anywhere in ``struct``."""
    return any(_is_record_data(field.kind) for field in struct.fields)


def _is_record_data(kind: Kind) -> bool:
    if isinstance(kind, ArrayKind):
        return _is_record_data(kind.of)
    return has_records(kind.struct) if isinstance(kind, StructKind) else kind is records
