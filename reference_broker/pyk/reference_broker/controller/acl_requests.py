"""CreateAcls and DeleteAcls: each ACL, and each filter, on its own (KIP-140). Pure."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from uuid import UUID

from pyk.protocol.acls import (
    CLUSTER_NAME,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.access_records import (
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
)
from pyk.protocol.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from pyk.protocol.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from pyk.protocol.schema import Message
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.security.acl_filter import AclFilter
from pyk.reference_broker.security.acls import Acl, Acls

from .topics import check_record_limit

Records = list[Message]

_UNKNOWN_OR_ANY = (0, 1)


def create_acls(
    acls: Acls, request: CreateAclsRequest, new_id: Callable[[], UUID]
) -> tuple[CreateAclsResponse, Records]:
    """Return the response to CreateAcls, and a record for each valid ACL that is new."""
    response = CreateAclsResponse()
    new: dict[Acl, None] = {}
    for creation in request.creations:
        result = AclCreationResult(error_message="")  # as in Kafka
        response.results.append(result)
        try:
            _check(creation)
        except ApiError as error:
            result.error_code, result.error_message = error.code, error.message
            continue
        acl = _acl(creation)
        if acl not in acls:
            new[acl] = None
    try:
        check_record_limit(len(new))
    except ApiError as error:
        for result in response.results:
            result.error_code, result.error_message = error.code, error.message
        return response, []
    return response, [_record(new_id(), acl) for acl in new]


def delete_acls(acls: Acls, request: DeleteAclsRequest) -> tuple[DeleteAclsResponse, Records]:
    """Return the response to DeleteAcls, and a record for each ACL that a filter matches."""
    response = DeleteAclsResponse()
    deleted: dict[UUID, None] = {}
    for asked in request.filters:
        result = DeleteAclsFilterResult(error_message=None)
        response.filter_results.append(result)
        try:
            _check_filter(asked)
            found = dict(AclFilter.of(asked).find(acls))
            check_record_limit(len({**deleted, **dict.fromkeys(found)}))
        except ApiError as error:
            result.error_code, result.error_message = error.code, error.message
            continue
        deleted |= dict.fromkeys(found)
        result.matching_acls = [_matching(acl) for acl in found.values()]
    return response, [RemoveAccessControlEntryRecord(id=acl_id) for acl_id in deleted]


def _check(creation: AclCreation) -> None:
    """Raise :class:`ApiError` unless an ACL may be added, with Kafka's texts."""
    is_cluster = creation.resource_type == ResourceType.CLUSTER
    if is_cluster and creation.resource_name != CLUSTER_NAME:
        raise _invalid(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not creation.resource_name:
        raise _invalid("Invalid empty resource name")
    _check_single("resourceType", ResourceType, creation.resource_type)
    pattern_type = _member(PatternType, creation.resource_pattern_type)
    if pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
        raise _invalid(f"Invalid patternType {pattern_type.name}")
    _check_single("operation", AclOperation, creation.operation)
    _check_single("permissionType", AclPermissionType, creation.permission_type)


def _check_single(what: str, members: type[IntEnum], number: int) -> None:
    member = _member(members, number)
    if member in _UNKNOWN_OR_ANY:
        raise _invalid(f"Invalid {what} {member.name}")


def _check_filter(asked: DeleteAclsFilter) -> None:
    kinds = ((ResourceType, asked.resource_type_filter), (PatternType, asked.pattern_type_filter))
    if not all(_member(members, number) for members, number in kinds):
        raise _invalid("Unknown patternFilter.")
    entry = ((AclOperation, asked.operation), (AclPermissionType, asked.permission_type))
    if not all(_member(members, number) for members, number in entry):
        raise _invalid("Unknown entryFilter.")


def _member(members: type[IntEnum], number: int) -> IntEnum:
    try:
        return members(number)
    except ValueError:
        return members(0)  # UNKNOWN, in all of them


def _invalid(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, message)


def _acl(creation: AclCreation) -> Acl:
    return Acl(
        resource_type=creation.resource_type,
        resource_name=creation.resource_name,
        pattern_type=creation.resource_pattern_type,
        principal=creation.principal,
        host=creation.host,
        operation=creation.operation,
        permission_type=creation.permission_type,
    )


def _record(acl_id: UUID, acl: Acl) -> AccessControlEntryRecord:
    return AccessControlEntryRecord(
        id=acl_id,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
    )


def _matching(acl: Acl) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        error_message=None,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
    )
