"""Errors of brokers about who the client is and what it may do."""

from __future__ import annotations

from pyk.clients.errors.base import BrokerError
from pyk.protocol.errors import ErrorCode


class AuthenticationError(BrokerError):
    """The broker does not believe who the client is, or the client not who the broker is."""

    mechanism: str | None = None
    """The SASL mechanism that was tried, None before one was."""
    principal: str | None = None
    """Who the client said it is, None if that is not known."""
    advice: str = ""
    """What to check or to change, with which the message ends; empty if it says so itself."""


class SslAuthenticationError(AuthenticationError):
    """One side does not accept the certificate of the other, or the lack of one."""

    fatal = True


class ProxyAuthenticationError(AuthenticationError):
    """The proxy does not accept user name and password, or the lack of them."""

    fatal = True


class AuthorizationError(BrokerError):
    """The client may not do this."""


class TopicAuthorizationFailedError(AuthorizationError, code=ErrorCode.TOPIC_AUTHORIZATION_FAILED):
    """The client may not do this with the topic."""


class GroupAuthorizationFailedError(AuthorizationError, code=ErrorCode.GROUP_AUTHORIZATION_FAILED):
    """The client may not do this with the group."""


class ClusterAuthorizationFailedError(
    AuthorizationError, code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED
):
    """The client may not do this with the cluster."""


class TransactionalIdAuthorizationFailedError(
    AuthorizationError, code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
):
    """The client may not use this transactional id."""


class DelegationTokenAuthorizationFailedError(
    AuthorizationError, code=ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
):
    """The client may not do this with the delegation token."""


class UnsupportedSaslMechanismError(AuthenticationError, code=ErrorCode.UNSUPPORTED_SASL_MECHANISM):
    """The broker does not offer this SASL mechanism."""


class IllegalSaslStateError(AuthenticationError, code=ErrorCode.ILLEGAL_SASL_STATE):
    """This request does not belong to this phase of authentication."""


class SaslAuthenticationFailedError(AuthenticationError, code=ErrorCode.SASL_AUTHENTICATION_FAILED):
    """The broker refused the credentials."""


class SecurityDisabledError(BrokerError, code=ErrorCode.SECURITY_DISABLED):
    """The broker has no authorizer, so there are no ACLs."""


class DelegationTokenAuthDisabledError(BrokerError, code=ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED):
    """Delegation tokens are not switched on: brokers need delegation.token.secret.key."""


class DelegationTokenNotFoundError(BrokerError, code=ErrorCode.DELEGATION_TOKEN_NOT_FOUND):
    """The broker does not know this delegation token."""


class DelegationTokenOwnerMismatchError(
    BrokerError, code=ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
):
    """The principal is not the owner of this delegation token, and may not renew it."""


class DelegationTokenRequestNotAllowedError(
    BrokerError, code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
):
    """Delegation tokens need a login by SASL or a certificate, and not by a token itself."""


class DelegationTokenExpiredError(BrokerError, code=ErrorCode.DELEGATION_TOKEN_EXPIRED):
    """The delegation token has expired."""


class InvalidPrincipalTypeError(BrokerError, code=ErrorCode.INVALID_PRINCIPAL_TYPE):
    """Principals of this type are not supported here."""


class UnacceptableCredentialError(BrokerError, code=ErrorCode.UNACCEPTABLE_CREDENTIAL):
    """The credential does not meet the broker's requirements."""


class PrincipalDeserializationFailureError(
    BrokerError, code=ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE
):
    """The broker could not read the principal of a forwarded request."""
