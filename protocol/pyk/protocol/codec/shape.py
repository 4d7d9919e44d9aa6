"""Describe how one value lies on the wire in one version of a message."""

from __future__ import annotations

from struct import calcsize

from pyk.protocol.fields import ArrayKind, Field, Kind, StructKind
from pyk.runtime import slotted


@slotted.frozen
class Shape:
    """A kind, and what the version makes of it."""

    kind: Kind
    version: int
    is_flexible: bool
    """The message is, with all its structs."""
    is_compact: bool
    """Lengths and counts are varints, one more than what they tell; 0 is null."""
    is_nullable: bool = False
    is_tagged: bool = False
    """The value of a tagged field."""

    @classmethod
    def of(cls, field: Field, version: int, *, is_flexible: bool, is_tagged: bool = False) -> Shape:
        return cls(
            field.kind,
            version,
            is_flexible,
            is_compact=is_flexible and not field.always_classic,
            is_nullable=version in field.nullable,
            is_tagged=is_tagged,
        )

    @property
    def element(self) -> Shape:
        """The shape of the elements of an array."""
        assert isinstance(self.kind, ArrayKind)
        return Shape(self.kind.of, self.version, self.is_flexible, self.is_compact)

    @property
    def prefix_format(self) -> str:
        """The ``struct`` format of the length or count, or of the first byte of its varint."""
        return "B" if self.is_compact else "h" if self.kind.name == "string" else "i"

    @property
    def null_prefix(self) -> int:
        return 0 if self.is_compact else -1

    @property
    def smallest_size(self) -> int:
        """The fewest bytes that a value can take, at least 1."""
        if self.kind.fixed_format:
            return calcsize(f">{self.kind.fixed_format}")
        if not isinstance(self.kind, StructKind):
            return calcsize(f">{self.prefix_format}")
        if self.is_nullable:
            return 1
        fields = (field for field in self.kind.struct.fields if self.version in field.versions)
        inline = (field for field in fields if self.version not in field.tagged)
        shapes = (Shape.of(field, self.version, is_flexible=self.is_flexible) for field in inline)
        return max(1, self.is_flexible + sum(shape.smallest_size for shape in shapes))
