"""Log in to Amazon MSK with an identity of AWS, by a request that is signed and not sent.

Brokers check the signature with AWS. There are two ways to hand it over: as a token of OAUTHBEARER,
which holds for all brokers, and by the mechanism AWS_MSK_IAM of Amazon's library for Java, where it
has the name of the broker.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import attrs

from pyk.clients.errors import ConfigurationError
from pyk.clients.security.application_functions import without_secrets
from pyk.clients.security.aws_credentials import (
    BotocoreCredentials,
    EnvironmentCredentials,
    first_of,
)
from pyk.clients.security.aws_signature import AwsCredentials, Presigned, encoded
from pyk.clients.security.exchange import CredentialsError, Exchange, Work
from pyk.clients.security.oauth import Oauth
from pyk.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from pyk.protocol.sasl.json_web_tokens import to_base64url
from pyk.protocol.version import __version__
from pyk.runtime.clock import Clock
from pyk.runtime.secret import Secret
from pyk.runtime.system_clock import SystemClock

OAUTHBEARER = "OAUTHBEARER"
AWS_MSK_IAM = "AWS_MSK_IAM"
SERVICE = "kafka-cluster"
ACTION = {"Action": "kafka-cluster:Connect"}
USER_AGENT = f"pyk/{__version__}"
PAYLOAD_VERSION = "2020_10_22"
REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]+")
REGION_OF_HOST = re.compile(r"\.(?:kafka|kafka-serverless)\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$")


@attrs.frozen(kw_only=True)
class MskIam:
    """Log in to Amazon MSK with the keys of AWS, on the port for IAM (9098).

    ``region`` is that of the cluster; without it, it is read from the brokers' names. The keys are
    those of the environment, else what the package botocore finds (``pyk-kafka[msk]``), for a
    ``profile`` of its configuration and a ``role_arn`` to assume. Or ``credentials`` is a function
    that returns :class:`AwsCredentials`; it is called for each login, and may block.

    ``mechanism`` is ``"OAUTHBEARER"``, as clients of other languages have it, or ``"AWS_MSK_IAM"``,
    as Amazon's library for Java. Raises :class:`ConfigurationError`.
    """

    region: str | None = None
    profile: str | None = None
    role_arn: str | None = None
    role_session: str = "pyk"
    credentials: Callable[[], AwsCredentials] | None = attrs.field(default=None, repr=False)
    mechanism: str = OAUTHBEARER
    _clock: Clock = attrs.field(factory=SystemClock, repr=False, eq=False)
    _sources: tuple[Callable[[], AwsCredentials | None], ...] = attrs.field(
        init=False, repr=False, eq=False
    )

    def __attrs_post_init__(self) -> None:
        if self.mechanism not in (OAUTHBEARER, AWS_MSK_IAM):
            raise ConfigurationError(
                f"mechanism must be {OAUTHBEARER!r} or {AWS_MSK_IAM!r}, not {self.mechanism!r}"
            )
        if self.region is not None and REGION.fullmatch(self.region) is None:
            raise ConfigurationError(f"region must be one of AWS, not {self.region!r}")
        object.__setattr__(self, "_sources", self._chosen())

    def _chosen(self) -> tuple[Callable[[], AwsCredentials | None], ...]:
        if self.credentials is not None:
            return (self.credentials,)
        found = BotocoreCredentials(self.profile, self.role_arn, self.role_session)
        if self.profile is not None or self.role_arn is not None:
            return (found,)
        return (EnvironmentCredentials(), found)

    @property
    def principal(self) -> str:
        return self.role_arn or self.profile or ""

    @property
    def advice(self) -> str:
        return (
            "check the identity of AWS (aws sts get-caller-identity), that its policy allows "
            "kafka-cluster:Connect, the region, and the clock of this machine"
        )

    def exchange(self, nonce: str, host: str) -> Exchange:
        """Return a new exchange."""
        region = self._region_of(host)
        if self.mechanism == OAUTHBEARER:
            yield from Oauth(lambda: self._token(region)).exchange(nonce, host)
            return
        payload = yield Work(lambda: self._payload(host, region), is_long=True)
        response = yield SaslAuthenticateRequest(auth_bytes=payload.reveal().encode())
        if not response.auth_bytes:
            raise CredentialsError("the broker does not confirm the login")

    def _region_of(self, host: str) -> str:
        found = REGION_OF_HOST.search(host)
        region = self.region or (found[1] if found else None)
        if region is None:
            raise CredentialsError(f"the name {host!r} has no region of AWS: give region=")
        return region

    def _token(self, region: str) -> Secret:
        """Return a signed URL, as Amazon's signers for OAUTHBEARER make it."""
        host = f"kafka.{region}.amazonaws.com"
        query = self._signed(host, region) | {"User-Agent": USER_AGENT}
        return Secret(to_base64url(f"https://{host}/?{encoded(query)}".encode()))

    def _payload(self, host: str, region: str) -> Secret:
        """Return the same as a JSON object, for one broker."""
        query = self._signed(host, region)
        members = {"version": PAYLOAD_VERSION, "host": host, "user-agent": USER_AGENT}
        return Secret(json.dumps(members | {name.lower(): text for name, text in query.items()}))

    def _signed(self, host: str, region: str) -> dict[str, str]:
        signed = Presigned(host=host, region=region, service=SERVICE, parameters=ACTION)
        return signed.query(self._keys(), self._clock.time_ms() / 1000)

    def _keys(self) -> AwsCredentials:
        with without_secrets("the function for credentials", CredentialsError):
            return first_of(*self._sources)
