"""The options of OAUTHBEARER, with which pyk fetches tokens by itself. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from pyk.clients.config.option import option
from pyk.clients.config.other_logins import MSK_HANDLER, msk_iam_of
from pyk.clients.config.security_values import FilePath, SecretText
from pyk.clients.config.values import (
    Boolean,
    Fraction,
    Integer,
    OneOf,
    OptionalInteger,
    OptionalText,
)
from pyk.clients.errors import ConfigurationError
from pyk.clients.security.exchange import Credentials
from pyk.clients.security.tls_settings import TlsSettings
from pyk.runtime import slotted
from pyk.runtime.secret import Secret

KAFKA = "org.apache.kafka.common.security.oauthbearer"
JWT_BEARER = f"{KAFKA}.JwtBearerJwtRetriever"
KNOWN_CLASSES = {
    "sasl_login_callback_handler_class": (
        f"{KAFKA}.OAuthBearerLoginCallbackHandler",
        f"{KAFKA}.secured.OAuthBearerLoginCallbackHandler",  # before Kafka 3.4
    ),
    "sasl_oauthbearer_jwt_retriever_class": (
        f"{KAFKA}.DefaultJwtRetriever",
        f"{KAFKA}.ClientCredentialsJwtRetriever",
        JWT_BEARER,
    ),
}
FUNCTION = "give auth=Oauth(function), with a function that returns a token"
EXTENSION = "extension_"

# What does the fetching does I/O, and is imported when it is needed: options are pure.
SECURITY = "pyk.clients.security"


@slotted.frozen(kw_only=True)
class OauthOptions:
    """The options that say where tokens come from."""

    sasl_login_callback_handler_class: str | None = option(
        OptionalText(),
        None,
        "Kafka's class that fetches tokens; pyk does what it does.",
    )
    sasl_oauthbearer_jwt_retriever_class: str | None = option(
        OptionalText(),
        None,
        "Kafka's class for the way to ask for tokens: with a secret, or with an assertion alone.",
    )
    sasl_oauthbearer_token_endpoint_url: str | None = option(
        OptionalText(2048), None, "Where tokens are fetched: the URL of an OIDC token endpoint."
    )
    sasl_oauthbearer_client_credentials_client_id: str | None = option(
        OptionalText(), None, "The id of the client at the identity provider."
    )
    sasl_oauthbearer_client_credentials_client_secret: Secret | None = option(
        SecretText(), None, "The secret of the client at the identity provider."
    )
    sasl_oauthbearer_scope: str | None = option(
        OptionalText(), None, "The scope that tokens are asked for."
    )
    sasl_oauthbearer_header_urlencode: bool = option(
        Boolean(), False, "Encode id and secret in the header, as RFC 6749 has it."
    )
    sasl_oauthbearer_assertion_file: str | None = option(
        FilePath(), None, "A file with an assertion, which another program writes."
    )
    sasl_oauthbearer_assertion_private_key_file: str | None = option(
        FilePath(), None, "The key that signs assertions, in PEM."
    )
    sasl_oauthbearer_assertion_private_key_passphrase: Secret | None = option(
        SecretText(), None, "The password of that key."
    )
    sasl_oauthbearer_assertion_algorithm: str = option(
        OneOf(("RS256", "ES256")), "RS256", "The algorithm that signs assertions."
    )
    sasl_oauthbearer_assertion_claim_iss: str | None = option(
        OptionalText(), None, "The issuer of assertions."
    )
    sasl_oauthbearer_assertion_claim_sub: str | None = option(
        OptionalText(), None, "The subject of assertions."
    )
    sasl_oauthbearer_assertion_claim_aud: str | None = option(
        OptionalText(), None, "The audience of assertions."
    )
    sasl_oauthbearer_assertion_claim_exp_seconds: int = option(
        Integer(maximum=86_400), 300, "How long an assertion is valid."
    )
    sasl_oauthbearer_assertion_claim_nbf_seconds: int = option(
        Integer(maximum=3_600), 60, "How long before its making an assertion is valid."
    )
    sasl_oauthbearer_assertion_claim_jti_include: bool = option(
        Boolean(), False, "Give each assertion an id."
    )
    sasl_oauthbearer_assertion_template_file: str | None = option(
        FilePath(), None, "Other members of assertions, as JSON."
    )
    sasl_oauthbearer_allow_http_on_loopback: bool = option(
        Boolean(), False, "Ask a test's endpoint on this machine without TLS. An option of pyk."
    )
    sasl_login_connect_timeout_ms: int | None = option(
        OptionalInteger(minimum=1), None, "How long connecting to the endpoint may take; 10 s."
    )
    sasl_login_read_timeout_ms: int | None = option(
        OptionalInteger(minimum=1), None, "How long the endpoint may take to answer; 10 s."
    )
    sasl_login_retry_backoff_ms: int = option(
        Integer(), 100, "The wait before the endpoint is asked again; it doubles each time."
    )
    sasl_login_retry_backoff_max_ms: int = option(
        Integer(), 10_000, "How long the endpoint is asked again."
    )
    sasl_login_refresh_window_factor: float = option(
        Fraction(0.5, 1.0), 0.8, "The part of its life after which a token is replaced."
    )
    sasl_login_refresh_window_jitter: float = option(
        Fraction(0.0, 0.25), 0.05, "A part that is added to that, at random and at most."
    )
    sasl_login_refresh_min_period_seconds: int = option(
        Integer(maximum=900), 60, "How long a token is used at least."
    )
    sasl_login_refresh_buffer_seconds: int = option(
        Integer(maximum=3_600), 300, "How long before its end a token is replaced at the latest."
    )

    def oauth(self, jaas: Mapping[str, str]) -> Credentials:
        """Return what to log in with; raise :class:`ConfigurationError`.

        ``jaas`` are the options of ``OAuthBearerLoginModule``; those of the table come first.
        """
        if (self.sasl_login_callback_handler_class or "").strip() == MSK_HANDLER:
            return msk_iam_of("OAUTHBEARER", jaas)
        for option_name, known in KNOWN_CLASSES.items():
            name = getattr(self, option_name)
            if name is not None and name.strip() not in known:
                raise ConfigurationError(
                    f"{option_name} is {name!r}, a Java class that Python cannot run; {FUNCTION}"
                )
        if self.sasl_oauthbearer_token_endpoint_url is None:
            raise ConfigurationError(
                "sasl_mechanism='OAUTHBEARER' needs sasl_oauthbearer_token_endpoint_url, or auth="
                "Oauth(…)"
            )
        from pyk.clients.security.oauth import Oauth

        extensions = {
            name.removeprefix(EXTENSION): value
            for name, value in jaas.items()
            if name.startswith(EXTENSION)
        }
        return Oauth(self._source(jaas), extensions=extensions)

    def _source(self, jaas: Mapping[str, str]) -> Any:
        security: Any = import_module(SECURITY)
        url, requests = self.sasl_oauthbearer_token_endpoint_url, self._requests(jaas)
        scope = self.sasl_oauthbearer_scope or jaas.get("scope")
        assertion = self._assertion()
        if self.sasl_oauthbearer_jwt_retriever_class == JWT_BEARER:
            if assertion is None:
                raise ConfigurationError(
                    "JwtBearerJwtRetriever needs sasl_oauthbearer_assertion_private_key_file or "
                    "sasl_oauthbearer_assertion_file"
                )
            return security.JwtBearer(url, assertion, scope=scope, requests=requests)
        client_id = self.sasl_oauthbearer_client_credentials_client_id or jaas.get("clientId")
        secret = self.sasl_oauthbearer_client_credentials_client_secret
        if secret is None and "clientSecret" in jaas:
            secret = Secret(jaas["clientSecret"])
        if not client_id or (secret is None and assertion is None):
            raise ConfigurationError(
                "sasl_mechanism='OAUTHBEARER' needs sasl_oauthbearer_client_credentials_client_id "
                "and …_client_secret, or clientId and clientSecret in sasl_jaas_config"
            )
        return security.ClientCredentials(
            url,
            client_id,
            secret,
            assertion=assertion if secret is None else None,
            scope=scope,
            url_encodes_header=self.sasl_oauthbearer_header_urlencode,
            requests=requests,
        )

    def _assertion(self) -> Any:
        security: Any = import_module(SECURITY)
        if self.sasl_oauthbearer_assertion_file is not None:
            return security.AssertionFile(self.sasl_oauthbearer_assertion_file)
        if self.sasl_oauthbearer_assertion_private_key_file is None:
            return None
        return security.SignedAssertion(
            key_file=self.sasl_oauthbearer_assertion_private_key_file,
            key_password=self.sasl_oauthbearer_assertion_private_key_passphrase,
            algorithm=self.sasl_oauthbearer_assertion_algorithm,
            issuer=self.sasl_oauthbearer_assertion_claim_iss,
            subject=self.sasl_oauthbearer_assertion_claim_sub,
            audience=self.sasl_oauthbearer_assertion_claim_aud,
            expires_in_seconds=self.sasl_oauthbearer_assertion_claim_exp_seconds,
            not_before_seconds=self.sasl_oauthbearer_assertion_claim_nbf_seconds,
            has_id=self.sasl_oauthbearer_assertion_claim_jti_include,
            template_file=self.sasl_oauthbearer_assertion_template_file,
        )

    def _requests(self, jaas: Mapping[str, str]) -> Any:
        security: Any = import_module(SECURITY)
        return security.TokenRequests(
            connect_timeout_ms=self.sasl_login_connect_timeout_ms or 10_000,
            read_timeout_ms=self.sasl_login_read_timeout_ms or 10_000,
            retries=security.Retries(
                backoff_ms=self.sasl_login_retry_backoff_ms,
                backoff_max_ms=self.sasl_login_retry_backoff_max_ms,
            ),
            window=security.RefreshWindow(
                factor=self.sasl_login_refresh_window_factor,
                jitter=self.sasl_login_refresh_window_jitter,
                min_period_seconds=self.sasl_login_refresh_min_period_seconds,
                buffer_seconds=self.sasl_login_refresh_buffer_seconds,
            ),
            tls=_tls_of(jaas),
            allow_http_on_loopback=self.sasl_oauthbearer_allow_http_on_loopback,
        )


def _tls_of(jaas: Mapping[str, str]) -> TlsSettings:
    """Return how the endpoint is asked over TLS: Kafka has that in the login module's options."""

    def secret(name: str) -> Secret | None:
        return Secret(jaas[name]) if name in jaas else None

    return TlsSettings(
        trust_file=jaas.get("ssl.truststore.location"),
        trust_pem=jaas.get("ssl.truststore.certificates"),
        trust_password=secret("ssl.truststore.password"),
        certificate_file=jaas.get("ssl.keystore.location"),
        store_password=secret("ssl.keystore.password"),
        certificate_pem=jaas.get("ssl.keystore.certificate.chain"),
        key_pem=secret("ssl.keystore.key"),
        key_password=secret("ssl.key.password"),
    )
