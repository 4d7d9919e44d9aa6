"""DescribeAcls, CreateAcls, DeleteAcls: the ACLs of the authorizer, if there is one (KIP-140)."""

from __future__ import annotations

from typing import Protocol

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.create_acls import (
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)
from pyk.protocol.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from pyk.protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from pyk.protocol.schema import Message
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.controller_channel import ControllerChannel
from pyk.reference_broker.deferred import HandlerResult
from pyk.reference_broker.security.acl_filter import AclFilter
from pyk.reference_broker.security.authorizer import Authorizer

from .context import RequestContext


class AclServices(Protocol):
    """The services that requests about ACLs use."""

    @property
    def authorizer(self) -> Authorizer | None: ...
    @property
    def image(self) -> MetadataImage: ...
    @property
    def controller(self) -> ControllerChannel: ...


def describe_acls(
    services: AclServices, request: DescribeAclsRequest, context: RequestContext
) -> DescribeAclsResponse:
    """Return the ACLs that match, those of a pattern together."""
    if services.authorizer is None:
        return DescribeAclsResponse(
            error_code=ErrorCode.SECURITY_DISABLED,
            error_message="No Authorizer is configured on the broker",
        )
    resources: dict[tuple[int, int, str], DescribeAclsResource] = {}
    for _, acl in AclFilter.of(request).find(services.image.acls):
        resource = resources.get(acl.pattern)
        if resource is None:
            resource = resources[acl.pattern] = DescribeAclsResource(
                resource_type=acl.resource_type,
                resource_name=acl.resource_name,
                pattern_type=acl.pattern_type,
            )
        resource.acls.append(
            AclDescription(
                principal=acl.principal,
                host=acl.host,
                operation=acl.operation,
                permission_type=acl.permission_type,
            )
        )
    return DescribeAclsResponse(error_message="", resources=list(resources.values()))


def alter_acls(
    services: AclServices,
    request: CreateAclsRequest | DeleteAclsRequest,
    context: RequestContext,
) -> HandlerResult:
    """Add or remove ACLs: the controller does, unless there is no authorizer."""
    if services.authorizer is None:
        return _refuse(request)
    return services.controller.send(request)


def _refuse(request: CreateAclsRequest | DeleteAclsRequest) -> Message:
    code, message = ErrorCode.SECURITY_DISABLED, "No Authorizer is configured."
    if isinstance(request, CreateAclsRequest):
        created = AclCreationResult(error_code=code, error_message=message)
        return CreateAclsResponse(results=[created] * len(request.creations))
    filtered = DeleteAclsFilterResult(error_code=code, error_message=message)
    return DeleteAclsResponse(filter_results=[filtered] * len(request.filters))
