"""The description of one field of a struct, for the codec."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias
from uuid import UUID

from pyk.runtime import slotted

from .names import camel_case
from .versions import NO_VERSIONS, VersionRange

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


@slotted.frozen
class Field:
    """All that the codec knows about one field of a struct."""

    kind: Kind
    versions: VersionRange
    nullable: VersionRange
    default: Any
    """An immutable value; ``()`` stands for an empty list."""
    tag: int | None
    ignorable: bool
    secret: bool
    always_classic: bool
    name: str = ""

    @property
    def tagged(self) -> VersionRange:
        return NO_VERSIONS if self.tag is None else self.versions

    def is_default(self, value: object) -> bool:
        """Return whether ``value`` is the default of the field."""
        return bool(value == ([] if self.default == () else self.default))

    @property
    def json_name(self) -> str:
        """Kafka's name of the field with a small first letter."""
        name = camel_case(self.name)
        return name[0].lower() + name[1:]
