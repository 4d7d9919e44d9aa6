"""DescribeClientQuotas: the quotas of clients as this broker knows them (KIP-546)."""

from __future__ import annotations

from typing import Protocol

from pyk.protocol.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from pyk.reference_broker.controller import quota_requests
from pyk.reference_broker.controller.image import MetadataImage

from .context import RequestContext


class QuotaServices(Protocol):
    """The services that requests about quotas use."""

    @property
    def image(self) -> MetadataImage: ...


def describe_client_quotas(
    services: QuotaServices, request: DescribeClientQuotasRequest, context: RequestContext
) -> DescribeClientQuotasResponse:
    """Return the quotas of the entities that match a filter."""
    return quota_requests.describe_client_quotas(services.image.client_quotas, request)
