"""Messages as JSON values, in the form that Kafka's own tools and test data use.

Keys are Kafka's field names with a small first letter, only those that the version has; bytes are
hex text, uuids have dashes, and tagged fields unknown to pyk stand under ``_unknownTaggedFields``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from .fields import ArrayKind, Kind, StructKind
from .structs import Struct

S = TypeVar("S", bound="Struct")
UNKNOWN = "_unknownTaggedFields"


def to_json(struct: Struct, version: int) -> dict[str, Any]:
    """Return the fields of ``struct`` at ``version``."""
    form = {
        field.json_name: _to_json(field.kind, getattr(struct, field.name), version)
        for field in struct.fields
        if version in field.versions
    }
    if struct.unknown_tagged_fields:
        tags = sorted(struct.unknown_tagged_fields.items())
        form[UNKNOWN] = [{"tag": tag, "data": value.hex()} for tag, value in tags]
    return form


def from_json(cls: type[S], form: Mapping[str, Any], version: int) -> S:
    """Return the ``cls`` that ``form`` describes, missing fields at their default.

    Raises ValueError for a field that the version does not have.
    """
    fields = {field.json_name: field for field in cls.fields if version in field.versions}
    unknown = form.keys() - fields.keys() - {UNKNOWN}
    if unknown:
        raise ValueError(f"{cls.__name__} v{version} has no {', '.join(sorted(unknown))}")
    values = {
        fields[name].name: _from_json(fields[name].kind, value, version)
        for name, value in form.items()
        if name != UNKNOWN
    }
    if UNKNOWN in form:
        values["unknown_tagged_fields"] = {
            item["tag"]: bytes.fromhex(item["data"]) for item in form[UNKNOWN]
        }
    return cls(**values)


def _to_json(kind: Kind, value: Any, version: int) -> Any:
    if value is None:
        return None
    if isinstance(kind, ArrayKind):
        return [_to_json(kind.of, item, version) for item in value]
    if isinstance(kind, StructKind):
        return to_json(value, version)
    if kind.name == "uuid":
        return str(value)
    if kind.name == "records" and isinstance(value, list):
        return b"".join(value).hex()
    return bytes(value).hex() if kind.name in {"bytes", "records"} else value


def _from_json(kind: Kind, form: Any, version: int) -> Any:
    if form is None:
        return None
    if isinstance(kind, ArrayKind):
        return [_from_json(kind.of, item, version) for item in form]
    if isinstance(kind, StructKind):
        return from_json(kind.struct, form, version)
    if kind.name == "uuid":
        return UUID(form)
    return bytes.fromhex(form) if kind.name in {"bytes", "records"} else form
