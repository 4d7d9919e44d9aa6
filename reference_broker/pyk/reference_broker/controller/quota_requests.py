"""Requests about the quotas of clients (KIP-546), with the checks of Apache Kafka. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.access_records import ClientQuotaRecord
from pyk.protocol.messages.access_records import EntityData as RecordEntity
from pyk.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    OpData,
    ResponseEntryData,
)
from pyk.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntryData,
    ValueData,
)
from pyk.protocol.messages.describe_client_quotas import EntityData as DescribedEntity
from pyk.protocol.schema import Message
from pyk.reference_broker.errors import ApiError

from .client_quotas import (
    CLIENT_ID,
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    IP,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    USER,
    ClientQuotasImage,
    QuotaEntity,
    entity_of,
)

# The largest value of each, and what Kafka calls its type; None where it may have a fraction.
_INT, _LONG = (2**31 - 1, "an INT"), (2**63, "a LONG")
_IP_LIMITS = {CONNECTION_CREATION_RATE: _INT}
_CLIENT_LIMITS = {
    PRODUCER_BYTE_RATE: _LONG,
    CONSUMER_BYTE_RATE: _LONG,
    REQUEST_PERCENTAGE: None,
    CONTROLLER_MUTATION_RATE: None,
}
_NEGLIGIBLE = 1e-6

MATCH_EXACT, MATCH_DEFAULT, MATCH_SPECIFIED = range(3)


# -- AlterClientQuotas -----------------------------------------------------------------------------


def alter_client_quotas(
    image: ClientQuotasImage, request: AlterClientQuotasRequest
) -> tuple[AlterClientQuotasResponse, list[Message]]:
    """Return the response with one result for each entity, and the records of valid changes.

    As in Kafka, an entity that is named twice gets its first change and an error.
    """
    errors: dict[QuotaEntity, ApiError | None] = {}
    records: list[Message] = []
    for entry in request.entries:
        entity = entity_of(entry.entity)
        is_repeated = entity in errors or len({op.key for op in entry.ops}) < len(entry.ops)
        errors[entity] = None
        try:
            if is_repeated:
                raise _invalid(f"Ignoring duplicate entity {_shown(entity)}")
            records += _changes(image, entity, entry.ops)
        except ApiError as error:
            errors[entity] = error
    response = AlterClientQuotasResponse(
        entries=[_result(entity, error) for entity, error in errors.items()]
    )
    return response, [] if request.validate_only else records


def _changes(
    image: ClientQuotasImage, entity: QuotaEntity, ops: Iterable[OpData]
) -> Sequence[ClientQuotaRecord]:
    """Return the records of changes to one entity; raise :class:`ApiError` if any is invalid."""
    allowed = _allowed_limits(entity)
    current = image.of(entity)
    parts = [RecordEntity(entity_type=each, entity_name=name) for each, name in entity]
    records = []
    for op in ops:
        if op.remove:
            if op.key in current:
                records.append(ClientQuotaRecord(entity=parts, key=op.key, remove=True))
            continue
        _check_limit(allowed, op.key, op.value)
        if current.get(op.key) != op.value:
            records.append(ClientQuotaRecord(entity=parts, key=op.key, value=op.value))
    return records


def _allowed_limits(entity: QuotaEntity) -> Mapping[str, tuple[int, str] | None]:
    """Return the limits that an entity can have; raise :class:`ApiError` if there is no such."""
    names = dict(entity)
    if not names:
        raise _invalid("Invalid empty client quota entity")
    for kind, name in entity:
        if kind not in (USER, CLIENT_ID, IP):
            raise _invalid(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise _invalid(f"Empty {kind} not supported")
    if IP not in names:
        return _CLIENT_LIMITS
    if len(names) > 1:
        raise _invalid(
            "Invalid quota entity combination, IP entity should"
            "not be combined with User or ClientId"
        )
    if not _is_address(names[IP]):
        raise _invalid(f"{names[IP]} is not a valid IP or resolvable host.")
    return _IP_LIMITS


def _is_address(name: str | None) -> bool:
    """Return whether a quota can be for this address. Kafka also resolves host names."""
    if name is None:
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _check_limit(allowed: Mapping[str, tuple[int, str] | None], name: str, value: float) -> None:
    if name not in allowed:
        raise _invalid(f"Invalid configuration key {name}")
    if value <= 0:
        raise _invalid(f"Quota {name} must be greater than 0")
    if not math.isfinite(value):
        raise _invalid(f"Quota {name} must be a number, not {value}")
    integral = allowed[name]
    if integral is None:
        return
    largest, kind = integral
    if value > largest:
        raise _invalid(f"Proposed value for {name} is too large for {kind}.")
    if math.fmod(value, 1.0) > _NEGLIGIBLE:
        raise _invalid(f"{name} cannot be a fractional value.")


def _result(entity: QuotaEntity, error: ApiError | None) -> ResponseEntryData:
    return ResponseEntryData(
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else error.message,
        entity=[EntityData(entity_type=each, entity_name=name) for each, name in entity],
    )


def _shown(entity: QuotaEntity) -> str:
    """Return an entity as Kafka's messages show it."""
    names = ", ".join(f"{each}={'null' if name is None else name}" for each, name in entity)
    return f"ClientQuotaEntity(entries={{{names}}})"


def _invalid(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, message)


# -- DescribeClientQuotas --------------------------------------------------------------------------


def describe_client_quotas(
    image: ClientQuotasImage, request: DescribeClientQuotasRequest
) -> DescribeClientQuotasResponse:
    """Return the entities that match all components, each with its own limits."""
    try:
        components = _checked_components(request.components)
    except ApiError as error:
        return DescribeClientQuotasResponse(
            error_code=error.code, error_message=error.message, entries=None
        )
    return DescribeClientQuotasResponse(  # with Kafka's empty error_message, not null
        entries=[
            _entry(entity, limits)
            for entity, limits in image.limits.items()
            if _matches(dict(entity), components, strict=request.strict)
        ],
    )


def _checked_components(components: Iterable[ComponentData]) -> dict[str, ComponentData]:
    """Return components by type; raise :class:`ApiError` if they make no filter."""
    checked: dict[str, ComponentData] = {}
    for component in components:
        kind = component.entity_type
        if not kind:
            raise _invalid("Invalid empty entity type.")
        if kind in checked:
            raise _invalid(f"Entity type {kind} cannot appear more than once in the filter.")
        if kind not in (USER, CLIENT_ID, IP):
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
        _check_match(component)
        checked[kind] = component
    if IP in checked and len(checked) > 1:
        raise _invalid(
            "Invalid entity filter component combination. IP filter component should not be "
            "used with user or clientId filter component."
        )
    return checked


def _check_match(component: ComponentData) -> None:
    has_name = component.match is not None
    if component.match_type == MATCH_EXACT and not has_name:
        raise _invalid("Request specified MATCH_TYPE_EXACT, but set match string to null.")
    if component.match_type == MATCH_DEFAULT and has_name:
        raise _invalid("Request specified MATCH_TYPE_DEFAULT, but also specified a match string.")
    if component.match_type == MATCH_SPECIFIED and has_name:
        raise _invalid("Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.")
    if component.match_type not in (MATCH_EXACT, MATCH_DEFAULT, MATCH_SPECIFIED):
        raise _invalid(f"Unknown match type {component.match_type}")


def _matches(
    names: Mapping[str, str | None], components: Mapping[str, ComponentData], *, strict: bool
) -> bool:
    if strict and len(names) != len(components):
        return False
    return all(
        kind in names
        and (component.match_type == MATCH_SPECIFIED or names[kind] == component.match)
        for kind, component in components.items()
    )


def _entry(entity: QuotaEntity, limits: Mapping[str, float]) -> EntryData:
    return EntryData(
        entity=[DescribedEntity(entity_type=each, entity_name=name) for each, name in entity],
        values=[ValueData(key=key, value=value) for key, value in limits.items()],
    )
