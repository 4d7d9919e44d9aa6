"""ApiVersions: what this broker serves, and the features the cluster has agreed on."""

from __future__ import annotations

import re
from typing import Protocol

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from pyk.protocol.versions import VersionRange
from pyk.reference_broker.controller.features import FEATURES
from pyk.reference_broker.controller.image import MetadataImage

from .context import RequestContext
from .table import SERVED

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_FIRST_VERSION_WITH_LOWEST_LEVEL_0 = 4


class FeatureServices(Protocol):
    """The services that ApiVersions uses."""

    @property
    def image(self) -> MetadataImage: ...


def api_versions(
    services: FeatureServices, request: ApiVersionsRequest, context: RequestContext
) -> ApiVersionsResponse:
    """Return what is served; refuse a client without a valid software name (KIP-511)."""
    software = (request.client_software_name, request.client_software_version)
    if context.version >= 3 and not all(map(_SOFTWARE.fullmatch, software)):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    if context.version >= 3 and context.connection is not None:
        context.connection.software = software
    if context.sasl is not None:
        context.sasl.greeted()
    image = services.image
    return ApiVersionsResponse(
        api_keys=advertised(),
        supported_features=[
            SupportedFeatureKey(
                name=feature.name, min_version=feature.lowest, max_version=feature.highest
            )
            for feature in FEATURES
            # Clients that speak version 3 fail on a lowest level of 0 (KAFKA-17011).
            if feature.lowest > 0 or context.version >= _FIRST_VERSION_WITH_LOWEST_LEVEL_0
        ],
        finalized_features_epoch=image.record_count - 1,
        finalized_features=[
            FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
            for name, level in image.features.items()
        ],
    )


def unsupported_version(
    versions: VersionRange = SERVED[ApiKey.API_VERSIONS],
) -> ApiVersionsResponse:
    """Return the response to a version that is not served: which are, in the form of version 0."""
    return ApiVersionsResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION,
        api_keys=[
            ApiVersion(
                api_key=ApiKey.API_VERSIONS,
                min_version=versions.lowest,
                max_version=versions.highest,
            )
        ],
    )


def advertised() -> list[ApiVersion]:
    """Return what ApiVersions tells."""
    return [
        ApiVersion(
            api_key=key,
            # KAFKA-18659: older librdkafka takes a broker without Produce 0 for one without
            # message format 2, so Kafka tells of versions here that it refuses.
            min_version=0 if key is ApiKey.PRODUCE else versions.lowest,
            max_version=versions.highest,
        )
        for key, versions in sorted(SERVED.items())
    ]
