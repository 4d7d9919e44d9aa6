"""ACLs: who may do what with which resources (KIP-11, KIP-290). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import TypeVar

from pyk.clients.admin.fields import check_field
from pyk.clients.errors import KafkaError, error_for
from pyk.protocol.acls import (
    CLUSTER_NAME,
    WILDCARD,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from pyk.protocol.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from pyk.protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResponse,
)
from pyk.runtime import slotted

E = TypeVar("E", bound=IntEnum)


@slotted.frozen(order=True)
class ResourcePattern:
    """The resources that an ACL is about.

    Raises ``ValueError`` for what only filters have: ``ANY`` and ``MATCH``.
    """

    resource_type: ResourceType
    name: str
    """``*`` is all resources of this type; that of the cluster is ``kafka-cluster``."""
    pattern_type: PatternType = PatternType.LITERAL

    def __attrs_post_init__(self) -> None:
        _check("resource_type", self.resource_type, ResourceType)
        _check("pattern_type", self.pattern_type, PatternType)
        _refuse(self.resource_type, ResourceType.ANY, "ResourcePatternFilter")
        _refuse(self.pattern_type, PatternType.ANY, "ResourcePatternFilter")
        _refuse(self.pattern_type, PatternType.MATCH, "ResourcePatternFilter")

    @classmethod
    def cluster(cls) -> ResourcePattern:
        """Return the pattern of the cluster, which is a single resource."""
        return cls(ResourceType.CLUSTER, CLUSTER_NAME)


@slotted.frozen(order=True)
class AccessControlEntry:
    """Who may or may not do what.

    Raises ``ValueError`` for ``ANY``, which only filters have.
    """

    principal: str
    """Such as ``User:alice``; ``User:*`` is everybody."""
    operation: AclOperation
    permission_type: AclPermissionType = AclPermissionType.ALLOW
    host: str = slotted.field(default=WILDCARD, kw_only=True)
    """The IP address of the client; ``*`` is any."""

    def __attrs_post_init__(self) -> None:
        _check("operation", self.operation, AclOperation)
        _check("permission_type", self.permission_type, AclPermissionType)
        _refuse(self.operation, AclOperation.ANY, "AccessControlEntryFilter")
        _refuse(self.permission_type, AclPermissionType.ANY, "AccessControlEntryFilter")


@slotted.frozen(order=True)
class AclBinding:
    """An ACL: a rule for the access to some resources."""

    pattern: ResourcePattern
    entry: AccessControlEntry

    def __attrs_post_init__(self) -> None:
        check_field(self, "pattern", ResourcePattern)
        check_field(self, "entry", AccessControlEntry)

    def __str__(self) -> str:
        return _in_words(self.pattern, self.entry)


@slotted.frozen
class ResourcePatternFilter:
    """Selects ACLs by the resources that they are about; by default all."""

    resource_type: ResourceType = ResourceType.ANY
    name: str | None = None
    """None is any name."""
    pattern_type: PatternType = PatternType.ANY

    def __attrs_post_init__(self) -> None:
        _check("resource_type", self.resource_type, ResourceType)
        _check("pattern_type", self.pattern_type, PatternType)


@slotted.frozen
class AccessControlEntryFilter:
    """Selects ACLs by who may or may not do what; by default all."""

    principal: str | None = None
    """None is any principal; ``User:*`` selects only the ACLs of everybody."""
    operation: AclOperation = AclOperation.ANY
    """``ALL`` selects only ACLs of ``ALL``; ``ANY`` does not care."""
    permission_type: AclPermissionType = AclPermissionType.ANY
    host: str | None = slotted.field(default=None, kw_only=True)
    """None is any host; ``*`` selects only ACLs of all hosts."""

    def __attrs_post_init__(self) -> None:
        _check("operation", self.operation, AclOperation)
        _check("permission_type", self.permission_type, AclPermissionType)


@slotted.frozen
class AclBindingFilter:
    """Selects ACLs; by default all of them."""

    pattern: ResourcePatternFilter = slotted.field(factory=ResourcePatternFilter)
    entry: AccessControlEntryFilter = slotted.field(factory=AccessControlEntryFilter)

    def __attrs_post_init__(self) -> None:
        check_field(self, "pattern", ResourcePatternFilter)
        check_field(self, "entry", AccessControlEntryFilter)

    def __str__(self) -> str:
        return _in_words(self.pattern, self.entry)

    @classmethod
    def of(cls, binding: AclBinding) -> AclBindingFilter:
        """Return the filter that selects one ACL only."""
        pattern, entry = binding.pattern, binding.entry
        return cls(
            ResourcePatternFilter(pattern.resource_type, pattern.name, pattern.pattern_type),
            AccessControlEntryFilter(
                entry.principal, entry.operation, entry.permission_type, host=entry.host
            ),
        )


def _in_words(
    pattern: ResourcePattern | ResourcePatternFilter,
    entry: AccessControlEntry | AccessControlEntryFilter,
) -> str:
    """Return an ACL, or what a filter selects, for the message of an error."""
    name = "of any name" if pattern.name is None else repr(pattern.name)
    return (
        f"{entry.principal or 'any principal'} {entry.permission_type.name} {entry.operation.name} "
        f"on {pattern.resource_type.name} {name} ({pattern.pattern_type.name}) "
        f"from {entry.host or 'any host'}"
    )


def create_acls_request(bindings: Iterable[AclBinding]) -> CreateAclsRequest:
    return CreateAclsRequest(
        creations=[
            AclCreation(
                resource_type=one.pattern.resource_type,
                resource_name=one.pattern.name,
                resource_pattern_type=one.pattern.pattern_type,
                principal=one.entry.principal,
                host=one.entry.host,
                operation=one.entry.operation,
                permission_type=one.entry.permission_type,
            )
            for one in bindings
        ]
    )


def created_acls(
    bindings: Sequence[AclBinding], response: CreateAclsResponse
) -> dict[AclBinding, KafkaError | None]:
    """Return the outcome of each ACL; results come in the order of the request."""
    return {
        binding: _outcome(response.api_key, result.error_code, result.error_message)
        for binding, result in zip(bindings, response.results, strict=False)
    }


def describe_acls_request(wanted: AclBindingFilter) -> DescribeAclsRequest:
    return DescribeAclsRequest(
        resource_type_filter=wanted.pattern.resource_type,
        resource_name_filter=wanted.pattern.name,
        pattern_type_filter=wanted.pattern.pattern_type,
        principal_filter=wanted.entry.principal,
        host_filter=wanted.entry.host,
        operation=wanted.entry.operation,
        permission_type=wanted.entry.permission_type,
    )


def described_acls(response: DescribeAclsResponse) -> list[AclBinding] | KafkaError:
    """Return the ACLs, sorted, or the error."""
    error = _outcome(response.api_key, response.error_code, response.error_message)
    if error is not None:
        return error
    return sorted(
        _binding(resource.resource_type, resource.resource_name, resource.pattern_type, acl)
        for resource in response.resources
        for acl in resource.acls
    )


def delete_acls_request(filters: Iterable[AclBindingFilter]) -> DeleteAclsRequest:
    return DeleteAclsRequest(
        filters=[
            DeleteAclsFilter(
                resource_type_filter=one.pattern.resource_type,
                resource_name_filter=one.pattern.name,
                pattern_type_filter=one.pattern.pattern_type,
                principal_filter=one.entry.principal,
                host_filter=one.entry.host,
                operation=one.entry.operation,
                permission_type=one.entry.permission_type,
            )
            for one in filters
        ]
    )


def deleted_acls(
    filters: Sequence[AclBindingFilter], response: DeleteAclsResponse
) -> dict[AclBindingFilter, list[AclBinding] | KafkaError]:
    """Return the ACLs that each filter deleted, sorted, or its first error; in order."""
    results = zip(filters, response.filter_results, strict=False)
    return {wanted: _deleted(response.api_key, result) for wanted, result in results}


def _deleted(api_key: int, result: DeleteAclsFilterResult) -> list[AclBinding] | KafkaError:
    outcomes = [(result.error_code, result.error_message)]
    outcomes += [(one.error_code, one.error_message) for one in result.matching_acls]
    for code, message in outcomes:
        if (error := _outcome(api_key, code, message)) is not None:
            return error
    return sorted(
        _binding(acl.resource_type, acl.resource_name, acl.pattern_type, acl)
        for acl in result.matching_acls
    )


def _outcome(api_key: int, error_code: int, message: str | None) -> KafkaError | None:
    if error_code == ErrorCode.NONE:
        return None
    return error_for(error_code, message, api_key=api_key)


def _binding(
    resource_type: int, name: str, pattern_type: int, acl: AclDescription | DeleteAclsMatchingAcl
) -> AclBinding:
    return AclBinding(
        ResourcePattern(
            _known(ResourceType, resource_type), name, _known(PatternType, pattern_type)
        ),
        AccessControlEntry(
            acl.principal,
            _known(AclOperation, acl.operation),
            _known(AclPermissionType, acl.permission_type),
            host=acl.host,
        ),
    )


def _known(kind: type[E], code: int) -> E:
    """Return a member, UNKNOWN for what a newer broker has."""
    return kind(code) if code in kind._value2member_map_ else kind(0)


def _check(name: str, given: object, kind: type[IntEnum]) -> None:
    # Numbers are those of a newer broker, which this release has no name for.
    if not isinstance(given, int) or isinstance(given, bool):
        example = f"{kind.__name__}.{list(kind)[-1].name}"
        shown = type(given).__name__
        raise TypeError(f"{name} must be of {kind.__name__}, such as {example}, not {shown}")


def _refuse(given: IntEnum, only_in_filters: IntEnum, where: str) -> None:
    if given == only_in_filters:
        raise ValueError(f"{type(given).__name__}.{given.name} is for filters: see {where}")
