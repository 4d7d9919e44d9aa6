"""The configurations of Kafka's clients that have no effect in pyk, and why. Pure.

These are the names of Kafka 3.9 to 4.3 that are not in the tables of options. They are taken, so
that a properties file that was written for Java configures pyk as well.
"""

from __future__ import annotations

STORES = "the contents of a file tell its format"
VERSIONS = "ssl_enabled_protocols has the versions"
OPENSSL = "TLS is that of Python and OpenSSL; ssl_context takes what no option here has"
KERBEROS = "kinit or a keytab renew tickets"
BROKERS = "brokers validate tokens"
METRICS = "pyk has no metric reporters; call stats()"
BUFFERS = "the operating system sizes the buffers of sockets"
JAVA_CLASS = "names a Java class, which Python cannot run"
PARTITIONING = "give partitioner= a function instead"

OBEYED_ANYWAY = (STORES,)
"""Reasons that nobody needs to be warned of: what the user wants happens."""

_NAMES = {
    BUFFERS: "receive.buffer.bytes send.buffer.bytes",
    METRICS: """auto.include.jmx.reporter metric.reporters metrics.num.samples
        metrics.recording.level metrics.sample.window.ms""",
    "pyk sends no metrics to brokers": "enable.metrics.push",
    "only from_properties() replaces ${…}": "config.providers",
    JAVA_CLASS: """interceptor.classes sasl.client.callback.handler.class
        sasl.login.class security.providers""",
    "pyk asks brokers, not controllers": "bootstrap.controllers",
    "internal to the Java client": """internal.leave.group.on.close
        internal.throw.on.fetch.stable.offset.unsupported""",
    PARTITIONING: """partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms
        partitioner.class partitioner.ignore.keys""",
    "compression_type is another": """compression.gzip.level compression.lz4.level
        compression.zstd.level""",
    "a record is retried until delivery_timeout_ms is over, a call until the timeout of the call": (
        "retries"
    ),
    STORES: """
        ssl.keystore.type ssl.truststore.type
        """,
    VERSIONS: """
        ssl.protocol
        """,
    OPENSSL: """
        ssl.engine.factory.class ssl.keymanager.algorithm ssl.provider
        ssl.secure.random.implementation ssl.trustmanager.algorithm
        """,
    KERBEROS: """
        sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin
        sasl.kerberos.ticket.renew.jitter
        sasl.kerberos.ticket.renew.window.factor
        """,
    BROKERS: """
        sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.expected.audience
        sasl.oauthbearer.expected.issuer sasl.oauthbearer.jwks.endpoint.refresh.ms
        sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
        sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.url
        sasl.oauthbearer.jwt.validator.class sasl.oauthbearer.scope.claim.name
        sasl.oauthbearer.sub.claim.name
        """,
}

WITHOUT_EFFECT = {
    name.replace(".", "_"): reason for reason, names in _NAMES.items() for name in names.split()
}

# Options of plug-ins of the Java client: metrics.context.LABEL, config.providers.NAME.param.NAME.
FAMILIES = {
    "metrics_context_": METRICS,
    "config_providers_": WITHOUT_EFFECT["config_providers"],
}


def reason_without_effect(name: str) -> str | None:
    """Return why a configuration of Kafka has no effect, None for a name that is not one.

    ``name`` is written with ``_`` for ``.``.
    """
    reason = WITHOUT_EFFECT.get(name)
    if reason is not None:
        return reason
    return next((why for family, why in FAMILIES.items() if name.startswith(family)), None)
