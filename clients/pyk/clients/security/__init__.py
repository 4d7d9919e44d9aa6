"""How clients show who they are, and check who brokers are: credentials and logins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyk.runtime.first_use import loaded_on_first_use
from pyk.runtime.secret import Secret

if TYPE_CHECKING:
    from pyk.clients.security.assertions import AssertionFile, SignedAssertion
    from pyk.clients.security.aws_signature import AwsCredentials
    from pyk.clients.security.credentials import Plain, Scram
    from pyk.clients.security.kerberos import Kerberos
    from pyk.clients.security.msk_iam import MskIam
    from pyk.clients.security.oauth import Oauth
    from pyk.clients.security.token_endpoints import ClientCredentials, JwtBearer, TokenRequests
    from pyk.clients.security.token_life import RefreshWindow, Retries

__all__ = [
    "AssertionFile",
    "AwsCredentials",
    "ClientCredentials",
    "JwtBearer",
    "Kerberos",
    "MskIam",
    "Oauth",
    "Plain",
    "RefreshWindow",
    "Retries",
    "Scram",
    "Secret",
    "SignedAssertion",
    "TokenRequests",
]

_HOMES = {
    "AssertionFile": "assertions",
    "AwsCredentials": "aws_signature",
    "ClientCredentials": "token_endpoints",
    "JwtBearer": "token_endpoints",
    "Kerberos": "kerberos",
    "MskIam": "msk_iam",
    "Oauth": "oauth",
    "Plain": "credentials",
    "RefreshWindow": "token_life",
    "Retries": "token_life",
    "Scram": "credentials",
    "SignedAssertion": "assertions",
    "TokenRequests": "token_endpoints",
}

# Most clients need one of these at most, and HTTP is slow to load.
__getattr__ = loaded_on_first_use(globals(), _HOMES)
