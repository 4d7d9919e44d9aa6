"""Logins by Kerberos and by an identity of AWS, from what Java's login modules are told. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pyk.clients.errors import ConfigurationError
from pyk.clients.security.exchange import Credentials

if TYPE_CHECKING:
    from pyk.clients.security.kerberos import Kerberos

MSK_HANDLER = "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler"
# What Amazon's library does about its own requests and logs; botocore has its own settings.
AWS_WITHOUT_EFFECT = {"awsDebugCreds", "awsMaxRetries", "awsMaxBackOffTimeMs", "awsStsRegion"}
AWS_OPTIONS = {
    "awsProfileName": "profile",
    "awsRoleArn": "role_arn",
    "awsRoleSessionName": "role_session",
}


def kerberos_of(jaas: Mapping[str, str], service_name: str | None) -> Kerberos:
    """Return a login by Kerberos; raise :class:`ConfigurationError`.

    ``jaas`` are the options of ``Krb5LoginModule``; ``service_name`` comes before its own.
    """
    from pyk.clients.security.kerberos import Kerberos

    keytab = jaas.get("keyTab") if jaas.get("useKeyTab", "").lower() == "true" else None
    return Kerberos(
        service_name=service_name or jaas.get("serviceName", "kafka"),
        principal=jaas.get("principal", ""),
        keytab=keytab,
    )


def msk_iam_of(mechanism: str, jaas: Mapping[str, str]) -> Credentials:
    """Return a login to Amazon MSK; raise :class:`ConfigurationError`.

    ``jaas`` are the options of ``IAMLoginModule``, or of ``OAuthBearerLoginModule`` beside Amazon's
    handler.
    """
    unknown = [
        name
        for name in jaas
        if name.startswith("aws") and name not in AWS_OPTIONS and name not in AWS_WITHOUT_EFFECT
    ]
    if unknown:
        raise ConfigurationError(
            f"sasl_jaas_config has {unknown[0]}, which pyk does not have; give "
            "auth=MskIam(credentials=function), with a function that returns AwsCredentials"
        )
    # It reads the environment, and is imported when it is needed: options are pure.
    security: Any = import_module("pyk.clients.security")
    options = {own: jaas[name] for name, own in AWS_OPTIONS.items() if name in jaas}
    made: Credentials = security.MskIam(mechanism=mechanism, **options)
    return made
