"""Classes whose fields lie on the wire one after the other: what codecs read and write.

They know their fields and nothing of codecs; :class:`~pyk.protocol.schema.Message` has those.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from operator import attrgetter
from typing import Any, ClassVar, TypeVar, cast, dataclass_transform

from pyk.runtime import slotted

from .field import NO_TAGGED_FIELDS, Field
from .versions import NO_VERSIONS, VersionRange

# What repr shows of one value; more of it is cut.
LONGEST_DATA = 64
LONGEST_TEXT = 200
LONGEST_LIST = 10


class MessageKind(enum.Enum):
    """The kind of a message class, in the words of Kafka's definitions."""

    REQUEST = "request"
    RESPONSE = "response"
    HEADER = "header"
    DATA = "data"
    COORDINATOR_KEY = "coordinator-key"
    COORDINATOR_VALUE = "coordinator-value"
    METADATA = "metadata"


S = TypeVar("S", bound="Struct")


# No field specifiers are named, so that to type checkers every field has a default, which is true.
@dataclass_transform(kw_only_default=True)
def struct(cls: type[S]) -> type[S]:
    """Make ``cls`` a struct: a class with slots whose field options the codec can read."""
    built: Any = slotted.define(cls, kw_only=True, eq=False)
    names = (each.name for each in slotted.fields(built) if each.metadata)
    built.fields = _FieldsOnFirstUse()
    built._values = attrgetter("unknown_tagged_fields", *names)
    return cast(type[S], built)


class _FieldsOnFirstUse:
    """The fields of a struct for the codec, named when they are first used: of most structs that a
    process imports, no object is ever encoded."""

    def __get__(self, instance: object, owner: Any) -> tuple[Field, ...]:
        fields = tuple(
            slotted.evolve(each.metadata, name=each.name)
            for each in slotted.fields(owner)
            if each.metadata
        )
        owner.fields = fields
        return fields


@struct
class Struct:
    """A group of fields inside a message."""

    unknown_tagged_fields: Mapping[int, bytes] = NO_TAGGED_FIELDS
    """Tagged fields that pyk does not know, by tag; they are written back when encoded."""

    fields: ClassVar[tuple[Field, ...]] = ()
    _values: ClassVar[attrgetter[Any]]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Struct) or other._values is not self._values:
            return NotImplemented
        return bool(self._values(self) == self._values(other))

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        values = {field.name: getattr(self, field.name) for field in self.fields}
        return _restore, (type(self), values, dict(self.unknown_tagged_fields))

    def __repr__(self) -> str:
        """Show the fields that are not at their default; cut what is long, hide secrets."""
        values = [(field, getattr(self, field.name)) for field in self.fields]
        shown = [
            f"{field.name}={'<hidden>' if field.secret else _shown(value)}"
            for field, value in values
            if not field.is_default(value)
        ]
        if self.unknown_tagged_fields:  # they may be secrets of a later version
            sizes = (f"{t}: <{len(v)} bytes>" for t, v in self.unknown_tagged_fields.items())
            shown.append(f"unknown_tagged_fields={{{', '.join(sizes)}}}")
        return f"{type(self).__name__}({', '.join(shown)})"


@struct
class VersionedStruct(Struct):
    """A struct that is encoded by itself: all that codecs know of a message."""

    kind: ClassVar[MessageKind]
    versions: ClassVar[VersionRange] = NO_VERSIONS
    flexible: ClassVar[VersionRange] = NO_VERSIONS
    """Versions in the compact encoding with tagged fields."""
    api_key: ClassVar[int] = -1
    """The API key; for a persisted record its type number; -1 for what has neither."""


def _restore(cls: type[S], values: dict[str, Any], unknown: dict[int, bytes]) -> S:
    return cls(**values, unknown_tagged_fields=unknown or NO_TAGGED_FIELDS)


def _shown(value: Any) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        return repr(bytes(value)) if len(value) <= LONGEST_DATA else f"<{len(value)} bytes>"
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        return f"<{value[:LONGEST_TEXT]!r}… {len(value)} in all>"
    if isinstance(value, list):
        rest = [f"… {len(value)} in all"] if len(value) > LONGEST_LIST else []
        return f"[{', '.join([*map(_shown, value[:LONGEST_LIST]), *rest])}]"
    return repr(value)
