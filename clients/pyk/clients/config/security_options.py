"""The options of TLS and SASL, under Kafka's names and under short ones of pyk."""

from __future__ import annotations

from collections.abc import Collection, Set
from typing import TYPE_CHECKING, Any

from pyk.clients.config.oauth_options import OauthOptions
from pyk.clients.config.option import Option, option, options_of
from pyk.clients.config.other_logins import kerberos_of, msk_iam_of
from pyk.clients.config.security_values import (
    CredentialsObject,
    FilePath,
    SecretText,
    TlsContext,
    TlsVersions,
)
from pyk.clients.config.values import OneOf, OptionalText, OptionalTextList
from pyk.clients.errors import ConfigurationError
from pyk.clients.security.exchange import Credentials
from pyk.clients.security.tls_settings import TlsSettings
from pyk.runtime import slotted
from pyk.runtime.secret import Secret
from pyk.runtime.tls_names import openssl_ciphers, versions_with

if TYPE_CHECKING:
    from pyk.protocol.sasl.jaas import LoginModule

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI", "AWS_MSK_IAM")
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
OTHER_NAMES = {
    "sasl_plain_username": "sasl_username",
    "sasl_plain_password": "sasl_password",
    "ssl_password": "ssl_key_password",
    "ssl_truststore_location": "ssl_cafile",
    "ssl_keystore_location": "ssl_certfile",
}
"""Names of Kafka, and of kafka-python and aiokafka, for the same thing."""

# Who gives one of these and no security_protocol does not want Kafka's default, PLAINTEXT.
MEANS_SASL = ("auth", "sasl_username", "sasl_password")
MEANS_TLS = ("ssl_context", "ssl_cafile", "ssl_certfile", "ssl_keyfile")

OWN_CONTEXT = "ssl_context has its own settings"
LOGIN_MODULES = {
    "PlainLoginModule": ("PLAIN",),
    "ScramLoginModule": SCRAM,
    "OAuthBearerLoginModule": ("OAUTHBEARER",),
    "Krb5LoginModule": ("GSSAPI",),
    "IAMLoginModule": ("AWS_MSK_IAM",),
}


@slotted.frozen(kw_only=True)
class SecurityOptions(OauthOptions):
    """The options of all clients that say how connections are secured."""

    security_protocol: str = option(
        OneOf(PROTOCOLS),
        "PLAINTEXT",
        "Whether connections are encrypted (SSL) and whether the client logs in (SASL).",
    )
    auth: Credentials | None = option(
        CredentialsObject(),
        None,
        "What to log in with, instead of the options of SASL; implies SASL_SSL. An option of pyk.",
    )
    sasl_mechanism: str | None = option(
        OneOf(MECHANISMS, is_optional=True), None, "The mechanism to log in by."
    )
    sasl_username: str | None = option(
        OptionalText(), None, "The user of PLAIN and SCRAM; implies SASL_SSL. An option of pyk."
    )
    sasl_password: Secret | None = option(
        SecretText(), None, "The password of PLAIN and SCRAM. An option of pyk."
    )
    sasl_jaas_config: Secret | None = option(
        SecretText(), None, "User and password as Java's clients have them, for PLAIN and SCRAM."
    )
    sasl_kerberos_service_name: str | None = option(
        OptionalText(), None, "The first part of the brokers' principal in Kerberos; ``kafka``."
    )
    ssl_context: Any = option(
        TlsContext(), None, "A context to use as it is, for all of TLS. An option of pyk."
    )
    ssl_cafile: str | None = option(
        FilePath(),
        None,
        "The certificates to trust, in PEM or PKCS12; those of the system without it. In Kafka "
        "``ssl.truststore.location``.",
    )
    ssl_truststore_certificates: str | None = option(
        OptionalText(1 << 20), None, "The certificates to trust, as text in PEM."
    )
    ssl_truststore_password: Secret | None = option(
        SecretText(), None, "The password of ``ssl_cafile``, if it is PKCS12."
    )
    ssl_certfile: str | None = option(
        FilePath(),
        None,
        "The certificate chain of the client, in PEM with or without its key, or in PKCS12. In "
        "Kafka ``ssl.keystore.location``.",
    )
    ssl_keyfile: str | None = option(
        FilePath(), None, "The key of ``ssl_certfile``, in PEM. An option of pyk."
    )
    ssl_keystore_certificate_chain: str | None = option(
        OptionalText(1 << 20), None, "The certificate chain of the client, as text in PEM."
    )
    ssl_keystore_key: Secret | None = option(
        SecretText(or_function=True), None, "The key of the client, as text in PEM."
    )
    ssl_keystore_password: Secret | None = option(
        SecretText(), None, "The password of ``ssl_certfile``, if it is PKCS12."
    )
    ssl_key_password: Secret | None = option(
        SecretText(or_function=True), None, "The password of an encrypted key."
    )
    ssl_crlfile: str | None = option(
        FilePath(), None, "Certificates that were revoked, in PEM. An option of pyk."
    )
    ssl_endpoint_identification_algorithm: str = option(
        OneOf(("https", "")), "https", "Check the host name of brokers; empty does not, and warns."
    )
    ssl_enabled_protocols: tuple[str, ...] = option(
        TlsVersions(), ("TLSv1.2", "TLSv1.3"), "The versions of TLS."
    )
    ssl_cipher_suites: tuple[str, ...] | None = option(
        OptionalTextList(),
        None,
        "Cipher suites of TLS 1.2, under the names of Java or OpenSSL.",
    )

    @classmethod
    def options(cls) -> dict[str, Option]:
        """Return the options of this table by name; those of security come last."""
        found, security = options_of(cls), options_of(SecurityOptions)
        own = {name: one for name, one in found.items() if name not in security}
        return {**own, **security}

    @property
    def uses_tls(self) -> bool:
        """Return whether connections are encrypted."""
        return self.security_protocol.endswith("SSL")

    @property
    def uses_sasl(self) -> bool:
        """Return whether the client logs in."""
        return self.security_protocol.startswith("SASL")

    def credentials(self) -> Credentials | None:
        """Return what to log in with, None without SASL; raise :class:`ConfigurationError`."""
        if not self.uses_sasl:
            return None
        if self.auth is not None:
            self._check_alone()
            return self.auth
        module = self._login_module()
        return self._credentials_of(self._mechanism(module), module)

    def tls_settings(self) -> TlsSettings | None:
        """Return the options of TLS, None without it; raise :class:`ConfigurationError`."""
        if not self.uses_tls:
            return None
        self._check_certificate()
        checks = bool(self.ssl_endpoint_identification_algorithm)
        suites = self.ssl_cipher_suites
        return TlsSettings(
            context=self.ssl_context,
            trust_file=self.ssl_cafile,
            trust_pem=self.ssl_truststore_certificates,
            trust_password=self.ssl_truststore_password,
            certificate_file=self.ssl_certfile,
            key_file=self.ssl_keyfile,
            certificate_pem=self.ssl_keystore_certificate_chain,
            key_pem=self.ssl_keystore_key,
            key_password=self.ssl_key_password,
            store_password=self.ssl_keystore_password,
            crl_file=self.ssl_crlfile,
            checks_host_name=checks,
            versions=versions_with(suites or (), self.ssl_enabled_protocols),
            ciphers=None if suites is None else openssl_ciphers(suites),
        )

    def reason_unused(self, name: str) -> str | None:
        """Return why an option of this table has no effect beside the others, None if it has."""
        is_tls, is_sasl = name.startswith("ssl_"), name.startswith("sasl_") or name == "auth"
        if (is_tls and not self.uses_tls) or (is_sasl and not self.uses_sasl):
            return f"security_protocol is {self.security_protocol}"
        if is_tls and self.ssl_context is not None and name != "ssl_context":
            return OWN_CONTEXT
        return self._reason_unused_by_mechanism(name) if is_sasl else None

    def _reason_unused_by_mechanism(self, name: str) -> str | None:
        of_oauth = name in options_of(OauthOptions)
        if not of_oauth and name != "sasl_kerberos_service_name":
            return None
        if self.auth is not None:
            return "auth has its own settings"
        mechanism = self._mechanism(self._login_module())
        fits = mechanism == ("OAUTHBEARER" if of_oauth else "GSSAPI")
        return None if fits else f"sasl_mechanism is {mechanism}"

    def security_warnings(self) -> list[str]:
        """Return what is unsafe about these options."""
        warnings = []
        tls = self.tls_settings()
        if tls is not None and tls.context is None and not tls.checks_host_name:
            warnings.append(
                "ssl_endpoint_identification_algorithm is empty: HOST NAMES OF BROKERS ARE NOT "
                "CHECKED, and whoever has a certificate of the same authority can pose as one"
            )
        credentials = self.credentials()
        if credentials is not None and credentials.mechanism == "PLAIN" and not self.uses_tls:
            warnings.append(
                "the password is sent in clear text: use security_protocol='SASL_SSL', or SCRAM"
            )
        return warnings

    def _check_alone(self) -> None:
        names = ("sasl_mechanism", "sasl_username", "sasl_password", "sasl_jaas_config")
        both = [name for name in names if getattr(self, name) is not None]
        if both:
            raise ConfigurationError(f"auth= was given, and {both[0]} as well: give one of them")

    def _check_certificate(self) -> None:
        for text, file in (
            ("ssl_truststore_certificates", "ssl_cafile"),
            ("ssl_keystore_certificate_chain", "ssl_certfile"),
            ("ssl_keystore_key", "ssl_keyfile"),
        ):
            if getattr(self, text) is not None and getattr(self, file) is not None:
                raise ConfigurationError(f"{text} and {file} were given: give one of them")
        has_chain = self.ssl_keystore_certificate_chain is not None
        if has_chain != (self.ssl_keystore_key is not None):
            raise ConfigurationError(
                "ssl_keystore_certificate_chain and ssl_keystore_key belong together: give both"
            )
        if self.ssl_keyfile is not None and self.ssl_certfile is None:
            raise ConfigurationError("ssl_keyfile needs ssl_certfile, the certificate of that key")

    def _login_module(self) -> LoginModule | None:
        if self.sasl_jaas_config is None:
            return None
        if self.sasl_username is not None or self.sasl_password is not None:
            raise ConfigurationError(
                "sasl_jaas_config was given, and sasl_username or sasl_password as well: give one "
                "of them"
            )
        from pyk.protocol.sasl.jaas import JaasError, parse_jaas

        try:
            return parse_jaas(self.sasl_jaas_config.reveal())
        except JaasError as error:
            raise ConfigurationError(f"sasl_jaas_config {error}") from None

    def _mechanism(self, module: LoginModule | None) -> str:
        fitting = MECHANISMS if module is None else LOGIN_MODULES.get(module.name)
        if fitting is None:
            raise ConfigurationError(
                "sasl_jaas_config names a login module that is not known here; known are "
                + ", ".join(LOGIN_MODULES)
            )
        if self.sasl_mechanism is None and len(fitting) == 1:
            return fitting[0]
        if self.sasl_mechanism is None:
            raise ConfigurationError(
                f"security_protocol={self.security_protocol!r} needs sasl_mechanism="
                f"{' or '.join(map(repr, fitting))}, or auth="
            )
        if self.sasl_mechanism not in fitting:
            raise ConfigurationError(
                f"sasl_mechanism is {self.sasl_mechanism!r}, but sasl_jaas_config is for "
                + " and ".join(fitting)
            )
        return self.sasl_mechanism

    def _credentials_of(self, mechanism: str, module: LoginModule | None) -> Credentials:
        options = {} if module is None else module.options
        if mechanism == "OAUTHBEARER":
            return self.oauth(options)
        if mechanism == "GSSAPI":
            return kerberos_of(options, self.sasl_kerberos_service_name)
        if mechanism == "AWS_MSK_IAM":
            return msk_iam_of(mechanism, options)
        username = options.get("username", self.sasl_username)
        password = Secret(options["password"]) if "password" in options else self.sasl_password
        if username is None or password is None:
            given = "username and password in sasl_jaas_config"
            raise ConfigurationError(
                f"sasl_mechanism={mechanism!r} needs "
                + (given if module else "sasl_username and sasl_password")
            )
        from pyk.clients.security.credentials import Plain, Scram

        if mechanism == "PLAIN":
            return Plain(username, password)
        is_token = options.get("tokenauth", "").lower() == "true"
        return Scram(username, password, mechanism, is_delegation_token=is_token)


def check_protocol(protocol: str, names: Set[str]) -> None:
    """Raise :class:`ConfigurationError` for a login or a context that a protocol has no use for.

    ``names`` are as they were written: Kafka's names are taken without effect, as in Kafka.
    """
    safe = "SASL_SSL" if not names.isdisjoint(MEANS_SASL) else "SSL"
    for lacks, means, does in (
        (not protocol.startswith("SASL"), MEANS_SASL, "log in"),
        (not protocol.endswith("SSL"), ("ssl_context",), "encrypt"),
    ):
        found = [name for name in means if name in names] if lacks else []
        if found:
            raise ConfigurationError(
                f"{found[0]}= was given, but clients with security_protocol={protocol!r} do not "
                f"{does}: give security_protocol={safe!r}, or leave {found[0]}= out"
            )


def implied_protocol(names: Collection[str]) -> str | None:
    """Return the protocol that options imply which were given without ``security_protocol``.

    ``names`` are as they were written: Kafka's dotted names imply nothing, as in Kafka.
    """
    if "security_protocol" in names or "security.protocol" in names:
        return None
    if any(name in names for name in MEANS_SASL):
        return "SASL_SSL"
    return "SSL" if any(name in names for name in MEANS_TLS) else None
