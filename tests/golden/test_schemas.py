"""Message classes, API keys and error codes match Kafka's definitions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from golden.protocol_facts import (
    Facts,
    api_keys,
    copied_messages,
    error_codes,
    messages_with_copied_vectors,
    schemas,
)
from pyk.protocol import (
    ApiKey,
    ErrorCode,
    Message,
    Struct,
    known_messages,
    message_class,
    request_class,
    response_class,
)
from pyk.protocol.fields import ArrayKind, Kind, StructKind
from support.table_codec import contains, default_of, fields_at, json_name, versions_of

SECRETS = {"auth_bytes", "hmac", "salt", "salted_password", "server_key", "stored_key"}
WITHOUT_VECTORS = {"SubscriptionInfoData"}  # of Kafka Streams, for which there are no vectors
MESSAGES = known_messages()
APIS = [key for key in ApiKey if f"{key.api_name}Request" in MESSAGES]
RENAMED = {("StreamsGroupCurrentMemberAssignmentValue", "TaskIds"): "CurrentTaskIds"}


class Row(NamedTuple):
    """The facts of one field at one version."""

    path: str
    kind: str
    is_nullable: bool
    tag: int | None
    is_compact: bool


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_class_matches_its_definition(name: str) -> None:
    cls, schema = message_class(name), schemas()[name]

    assert cls.__name__ == name
    assert cls.kind.value == schema["type"]
    assert cls.api_key == schema.get("apiKey", -1)
    assert list(cls.versions) == list(versions_of(schema))
    assert [v for v in cls.versions if v in cls.flexible] == [
        v for v in cls.versions if contains(schema["flexibleVersions"], v)
    ]


@pytest.mark.parametrize("name", MESSAGES)
def test_fields_of_every_version_are_those_of_kafka_in_order(name: str) -> None:
    cls, schema = message_class(name), schemas()[name]

    for version in cls.versions:
        flexible = version in cls.flexible
        theirs = list(_their_rows(schema, schema["fields"], version, "", flexible))
        assert list(_our_rows(cls, version, "", flexible)) == theirs


@pytest.mark.parametrize("name", MESSAGES)
def test_defaults_and_ignorable_fields_are_those_of_kafka(name: str) -> None:
    schema = schemas()[name]

    assert list(_our_defaults(message_class(name), "")) == list(
        _their_defaults(schema, schema["fields"], "")
    )


@pytest.mark.parametrize("name", MESSAGES)
def test_annotations_are_the_types_of_the_fields(name: str) -> None:
    for struct in _structs(message_class(name)):
        for field in struct.fields:
            annotation = _annotation(struct, field.name)
            expected = _python_type(field.kind)
            if not field.nullable.is_empty and expected != "RecordData":
                expected += " | None"
            assert annotation == expected, f"{struct.__name__}.{field.name}"


@pytest.mark.parametrize("name", MESSAGES)
def test_fields_with_credentials_are_secret(name: str) -> None:
    for struct in _structs(message_class(name)):
        for field in struct.fields:
            assert field.secret or field.name not in SECRETS, f"{struct.__name__}.{field.name}"


def test_the_copied_facts_cover_every_message() -> None:
    assert copied_messages() == set(MESSAGES)


def test_the_copied_vectors_cover_every_message_that_kafka_wrote_one_of() -> None:
    assert set(MESSAGES) - messages_with_copied_vectors() <= WITHOUT_VECTORS


@pytest.mark.parametrize("facts", api_keys(), ids=lambda facts: facts["name"])
def test_an_api_key_has_the_versions_and_flags_of_kafka(facts: Facts) -> None:
    key = ApiKey(facts["apiKey"])

    assert (key.name, key.api_name) == (facts["enum"], facts["name"])
    assert (str(key.versions), str(key.flexible)) == (
        facts["validVersions"],
        facts["flexibleVersions"],
    )
    assert key.is_internal == (facts["scope"] == "internal")
    assert key.needs_cluster_action == facts["clusterAction"]
    assert key.is_forwardable == facts["forwardable"]
    is_unstable = facts.get("latestVersionUnstable", False)
    assert key.stable_versions.highest == key.versions.highest - is_unstable


def test_every_api_key_of_kafka_is_listed() -> None:
    assert len(ApiKey) == len(api_keys())


@pytest.mark.parametrize("key", APIS)
def test_request_and_response_have_the_versions_of_their_api_key(key: ApiKey) -> None:
    for cls in (request_class(key), response_class(key)):
        assert (cls.api_key, cls.versions, cls.flexible) == (key, key.versions, key.flexible)


@pytest.mark.parametrize("facts", error_codes(), ids=lambda facts: facts["name"])
def test_an_error_code_matches_its_definition_in_kafka(facts: Facts) -> None:
    error = ErrorCode(facts["code"])

    assert error.name == facts["name"]
    assert error.retriable == facts["retriable"]
    assert error.refresh == facts["refresh"]
    assert error.invalidates_metadata == facts["invalidatesMetadata"]
    assert error.transaction_abortable == ("transactionAbortable" in facts["kinds"])
    assert error.application_recoverable == ("applicationRecoverable" in facts["kinds"])
    assert error.invalid_configuration == ("invalidConfiguration" in facts["kinds"])
    assert error.authorization == ("authorization" in facts["kinds"])
    assert error.authentication == ("authentication" in facts["kinds"])


def test_every_error_code_of_kafka_is_listed() -> None:
    assert len(ErrorCode) == len(error_codes())


def _their_rows(
    schema: Facts, fields: list[Facts], version: int, path: str, flexible: bool
) -> Iterator[Row]:
    for field in fields:
        if contains(field["versions"], version):
            name = path + json_name(field)
            yield Row(
                name,
                _class_name(schema, field["type"]),
                contains(field.get("nullableVersions"), version),
                field["tag"] if contains(field.get("taggedVersions"), version) else None,
                flexible and field.get("flexibleVersions") != "none",
            )
            if field["type"].removeprefix("[]")[0].isupper():
                inner = fields_at(schema, field)
                yield from _their_rows(schema, inner, version, f"{name}.", flexible)


def _our_rows(struct: type[Struct], version: int, path: str, flexible: bool) -> Iterator[Row]:
    for field in struct.fields:
        if version in field.versions:
            yield Row(
                path + field.json_name,
                field.kind.name,
                version in field.nullable,
                field.tag if version in field.tagged else None,
                flexible and not field.always_classic,
            )
            inner = _struct_in(field.kind)
            if inner:
                yield from _our_rows(inner, version, f"{path}{field.json_name}.", flexible)


def _their_defaults(
    schema: Facts, fields: list[Facts], path: str
) -> Iterator[tuple[str, Any, bool]]:
    for field in fields:
        name = path + json_name(field)
        is_struct = field["type"].removeprefix("[]")[0].isupper()
        is_struct_of_defaults = is_struct and field.get("default") != "null"
        if is_struct_of_defaults and not field["type"].startswith("[]"):
            default: Any = _class_name(schema, field["type"])
        else:
            default = default_of(schema, field, 0)
        yield name, default, field.get("ignorable", False)
        if is_struct:
            yield from _their_defaults(schema, fields_at(schema, field), f"{name}.")


def _class_name(schema: Facts, kind: str) -> str:
    """Return the name of a type in pyk.

    Where two messages of a module have different structs of one name, the name in pyk has a prefix.
    """
    name = kind.removeprefix("[]")
    if (schema["name"], name) in RENAMED:
        return kind.replace(name, RENAMED[schema["name"], name])
    of_api = re.fullmatch("(.+)(Request|Response)", schema["name"])
    if of_api is None:
        return kind
    api, side = of_api.groups()
    request, response = (_struct_fields(f"{api}{end}").get(name) for end in ("Request", "Response"))
    if request is None or response is None or request == response:
        return kind
    return kind.replace(name, side + name)


@cache
def _struct_fields(message: str) -> dict[str, list[Facts]]:
    """Return the fields of each struct in a message by the struct's name."""

    def found(fields: list[Facts]) -> Iterator[tuple[str, list[Facts]]]:
        for field in fields:
            yield field["type"].removeprefix("[]"), field.get("fields", [])
            yield from found(field.get("fields", []))

    schema = schemas()[message]
    common = {struct["name"]: struct["fields"] for struct in schema.get("commonStructs", [])}
    named = [*found(schema["fields"]), *chain(*map(found, common.values())), *common.items()]
    return {name: fields for name, fields in named if name[0].isupper()}


def _our_defaults(struct: type[Struct], path: str) -> Iterator[tuple[str, Any, bool]]:
    made = struct()
    for field in struct.fields:
        value = getattr(made, field.name)
        if isinstance(value, Struct):
            assert isinstance(field.kind, StructKind)
            assert value == field.kind.struct()
            value = type(value).__name__
        elif isinstance(value, UUID):
            value = str(value)
        elif isinstance(value, bytes):
            value = value.hex()
        yield path + field.json_name, value, field.ignorable
        inner = _struct_in(field.kind)
        if inner:
            yield from _our_defaults(inner, f"{path}{field.json_name}.")


def _struct_in(kind: Kind) -> type[Struct] | None:
    if isinstance(kind, ArrayKind):
        kind = kind.of
    return kind.struct if isinstance(kind, StructKind) else None


def _structs(cls: type[Message] | type[Struct]) -> Iterator[type[Struct]]:
    yield cls
    for field in cls.fields:
        inner = _struct_in(field.kind)
        if inner:
            yield from _structs(inner)


def _annotation(struct: type[Struct], name: str) -> str:
    annotation: str = struct.__annotations__[name]
    return annotation


def _python_type(kind: Kind) -> str:
    if isinstance(kind, ArrayKind):
        return f"list[{_python_type(kind.of)}]"
    names = {
        "bool": "bool",
        "float64": "float",
        "uuid": "UUID",
        "string": "str",
        "bytes": "bytes",
        "records": "RecordData",
    }
    return names.get(kind.name, kind.name if isinstance(kind, StructKind) else "int")
