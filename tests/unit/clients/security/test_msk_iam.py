"""Logins to Amazon MSK: what is signed, with which keys, and how it is handed over."""

from __future__ import annotations

import base64
import json
import sys
import types
import urllib.parse
from typing import Any

import attrs
import pytest

from pyk.clients.errors import ConfigurationError, SaslAuthenticationFailedError
from pyk.clients.security import AwsCredentials, MskIam, Secret
from pyk.clients.security.aws_signature import Presigned, signing_key
from pyk.clients.security.exchange import CredentialsError, Work
from pyk.clients.security.login import log_in
from pyk.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from pyk.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

HOST = "b-1.shop.abc123.c2.kafka.eu-west-1.amazonaws.com"
KEYS = AwsCredentials("AKIDEXAMPLE", "canary+key")
NOW = 1_440_938_160.5  # 2015-08-30T12:36:00Z
ENVIRONMENT = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


@attrs.frozen
class Clock:
    def now(self) -> float:
        return NOW

    def time_ms(self) -> int:
        return int(NOW * 1000)


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(sys.modules, "botocore", None)


def iam(**options: Any) -> MskIam:
    return MskIam(**({"credentials": lambda: KEYS, "clock": Clock()} | options))


def sent(credentials: MskIam, *answers: bytes, host: str = HOST) -> tuple[str, list[bytes]]:
    """Return the mechanism and the tokens of a login to a broker that answers so."""
    login, tokens, left = log_in(credentials, "nonce", f"{host}:9098", host), [], list(answers)
    step: Any = next(login)
    mechanism = ""
    try:
        while True:
            if isinstance(step, Work):
                assert step.is_long
                try:
                    outcome: Any = step.function()
                except CredentialsError as error:
                    step = login.throw(error)
                    continue
            elif isinstance(step, SaslHandshakeRequest):
                mechanism, outcome = step.mechanism, SaslHandshakeResponse()
            else:
                tokens.append(step.auth_bytes)
                outcome = SaslAuthenticateResponse(auth_bytes=left.pop(0))
            step = login.send(outcome)
    except StopIteration:
        return mechanism, tokens


def signed_url(credentials: MskIam) -> tuple[str, dict[str, str]]:
    mechanism, (token,) = sent(credentials, b"")
    assert mechanism == "OAUTHBEARER"
    text = token.decode().removeprefix("n,,\x01auth=Bearer ").rstrip("\x01")
    url = urllib.parse.urlsplit(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode())
    return f"{url.scheme}://{url.netloc}{url.path}", dict(urllib.parse.parse_qsl(url.query))


def test_keys_are_derived_as_in_the_example_of_aws() -> None:
    key = signing_key(
        Secret("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"), "20150830", "us-east-1", "iam"
    )

    assert key.hex() == "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9"


def test_a_query_is_signed_as_in_the_example_of_aws() -> None:
    """That of S3's documentation, *Authenticating Requests: Using Query Parameters*."""
    signed = Presigned(
        host="examplebucket.s3.amazonaws.com",
        path="/test.txt",
        region="us-east-1",
        service="s3",
        expires_in=86_400,
        payload="UNSIGNED-PAYLOAD",
    )
    keys = AwsCredentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")

    query = signed.query(keys, 1_369_353_600)

    assert query["X-Amz-Date"] == "20130524T000000Z"
    assert query["X-Amz-Signature"] == (
        "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    )


def test_the_token_is_the_one_of_amazons_signer() -> None:
    """Made by aws-msk-iam-sasl-signer-python 1.0.2 of the same keys at the same time."""
    endpoint, query = signed_url(iam(region="eu-west-1"))

    assert endpoint == "https://kafka.eu-west-1.amazonaws.com/"
    assert query.pop("User-Agent").startswith("pyk/")
    assert query == {
        "Action": "kafka-cluster:Connect",
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
        "X-Amz-Credential": "AKIDEXAMPLE/20150830/eu-west-1/kafka-cluster/aws4_request",
        "X-Amz-Date": "20150830T123600Z",
        "X-Amz-Expires": "900",
        "X-Amz-SignedHeaders": "host",
        "X-Amz-Signature": "8aa285a810d1dd5e017ded35e34791982b781fbb3c12b145ad13e98b67994279",
    }


def test_temporary_keys_have_a_session_token_that_is_signed_with_them() -> None:
    """Made by the same signer, with a session token."""
    keys = AwsCredentials("AKIDEXAMPLE", "canary+key", "to/ken+canary==")

    _, query = signed_url(iam(region="eu-west-1", credentials=lambda: keys))

    assert query["X-Amz-Security-Token"] == "to/ken+canary=="
    assert query["X-Amz-Signature"] == (
        "0a90a98ebf42bbe05d7b9b6c7b4b9ddb1b4510d994e1525876aa052ce9ee338e"
    )


def test_the_mechanism_of_amazons_library_for_java_names_the_broker() -> None:
    """The signature is that of kafka-python 3 for the same keys, host and time."""
    mechanism, (token,) = sent(
        iam(mechanism="AWS_MSK_IAM"), b'{"version":"2020_10_22","request-id":"1"}'
    )

    members = json.loads(token)
    assert mechanism == "AWS_MSK_IAM"
    assert members.pop("user-agent").startswith("pyk/")
    assert members == {
        "version": "2020_10_22",
        "host": HOST,
        "action": "kafka-cluster:Connect",
        "x-amz-algorithm": "AWS4-HMAC-SHA256",
        "x-amz-credential": "AKIDEXAMPLE/20150830/eu-west-1/kafka-cluster/aws4_request",
        "x-amz-date": "20150830T123600Z",
        "x-amz-expires": "900",
        "x-amz-signedheaders": "host",
        "x-amz-signature": "deded250bb3e7e4c6a9344e8ea42c2b2d015d818fd21718ff1c5582522f9eb59",
    }


def test_a_signature_that_a_broker_repeats_is_hidden() -> None:
    keys = AwsCredentials("AKIDEXAMPLE", "canary+key", "canary+session")
    credentials = iam(mechanism="AWS_MSK_IAM", credentials=lambda: keys)
    login = log_in(credentials, "nonce", f"{HOST}:9098", HOST)
    work: Any = next(login)
    handshake: Any = login.send(work.function())
    assert isinstance(handshake, SaslHandshakeRequest)
    token: Any = login.send(SaslHandshakeResponse())
    signature = json.loads(token.auth_bytes)["x-amz-signature"]
    said = f"refused {signature} of canary+session"

    with pytest.raises(SaslAuthenticationFailedError, match="refused <secret> of") as caught:
        login.send(SaslAuthenticateResponse(error_code=58, error_message=said))

    assert signature not in str(caught.value)
    assert "canary" not in str(caught.value)


def test_a_broker_that_does_not_confirm_is_not_believed() -> None:
    with pytest.raises(SaslAuthenticationFailedError, match="does not confirm"):
        sent(iam(mechanism="AWS_MSK_IAM"), b"")


@pytest.mark.parametrize(
    ("host", "region"),
    [
        (HOST, "eu-west-1"),
        ("boot-abc.c3.kafka-serverless.us-east-2.amazonaws.com", "us-east-2"),
        ("b-1.shop.abc.c2.kafka.cn-north-1.amazonaws.com.cn", "cn-north-1"),
    ],
)
def test_the_region_is_in_the_name_of_a_broker(host: str, region: str) -> None:
    _, (token,) = sent(iam(mechanism="AWS_MSK_IAM"), b"{}", host=host)

    assert f"/{region}/" in json.loads(token)["x-amz-credential"]


def test_another_name_needs_the_region() -> None:
    with pytest.raises(SaslAuthenticationFailedError, match="give region="):
        sent(iam(), host="kafka.eu-west-1.amazonaws.com.evil.example")


def test_keys_of_the_environment_are_read_for_each_login(monkeypatch: pytest.MonkeyPatch) -> None:
    credentials = iam(credentials=None, region="eu-west-1")
    for number in range(2):
        for name in ENVIRONMENT:
            monkeypatch.setenv(name, f"{name}{number}")

        _, query = signed_url(credentials)

        assert query["X-Amz-Credential"].startswith(f"AWS_ACCESS_KEY_ID{number}/")
        assert query["X-Amz-Security-Token"] == f"AWS_SESSION_TOKEN{number}"


def fail() -> AwsCredentials:
    raise KeyError("canary")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"credentials": None}, "botocore"),
        ({"credentials": None, "profile": "shop"}, r"needs the package 'botocore'"),
        ({"credentials": fail}, "raised KeyError"),
        ({"credentials": lambda: None}, "there are no keys of AWS"),
    ],
)
def test_without_keys_the_login_says_what_to_do(options: dict[str, Any], words: str) -> None:
    with pytest.raises(SaslAuthenticationFailedError, match=words) as caught:
        sent(iam(**options))

    assert "canary" not in str(caught.value)


@attrs.define
class FakeBotocore:
    """The parts of botocore that are used."""

    found: Any
    roles: list[tuple[Any, ...]] = attrs.Factory(list)
    profiles: list[str | None] = attrs.Factory(list)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        outer = self

        class BotoCoreError(Exception):
            pass

        class Session:
            def __init__(self, profile: str | None) -> None:
                outer.profiles.append(profile)

            def create_client(self, *_: Any) -> None:
                raise AssertionError

            def get_credentials(self) -> Any:
                if isinstance(outer.found, str):
                    raise BotoCoreError(outer.found)
                return outer.found

        def fetcher(client: Any, source: Any, arn: str, extra_args: dict[str, str]) -> Any:
            outer.roles.append((source, arn, extra_args))
            return types.SimpleNamespace(fetch_credentials="fetch")

        def refreshable(refresh_using: Any, method: str) -> Any:
            assert (refresh_using, method) == ("fetch", "assume-role")
            return Frozen(outer.found.keys)

        parts = {
            "session": types.SimpleNamespace(Session=Session),
            "exceptions": types.SimpleNamespace(
                BotoCoreError=BotoCoreError, ClientError=BotoCoreError
            ),
            "credentials": types.SimpleNamespace(
                AssumeRoleCredentialFetcher=fetcher, DeferredRefreshableCredentials=refreshable
            ),
        }
        module = types.ModuleType("botocore")
        vars(module).update(parts)
        monkeypatch.setitem(sys.modules, "botocore", module)


@attrs.frozen
class Frozen:
    keys: tuple[str, str, str | None]

    def get_frozen_credentials(self) -> Any:
        access, secret, token = self.keys
        return types.SimpleNamespace(access_key=access, secret_key=secret, token=token)


def test_botocore_finds_the_keys_of_a_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    botocore = FakeBotocore(Frozen(("AKID", "canary", "session")))
    botocore.install(monkeypatch)
    credentials = iam(credentials=None, profile="shop")

    for _ in range(2):
        _, query = signed_url(credentials)

    assert query["X-Amz-Credential"].startswith("AKID/")
    assert botocore.profiles == ["shop"]  # it keeps and renews them


@pytest.mark.parametrize(
    ("options", "name"), [({"profile": "shop"}, "shop"), ({"role_arn": "arn:role"}, "arn:role")]
)
def test_a_profile_or_role_comes_before_the_keys_of_the_environment(
    options: dict[str, Any], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "OTHER")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary")
    FakeBotocore(Frozen(("AKID", "canary", None))).install(monkeypatch)
    credentials = iam(credentials=None, **options)

    _, query = signed_url(credentials)

    assert query["X-Amz-Credential"].startswith("AKID/")
    assert credentials.principal == name


def test_a_role_is_assumed(monkeypatch: pytest.MonkeyPatch) -> None:
    botocore = FakeBotocore(Frozen(("AKID", "canary", None)))
    botocore.install(monkeypatch)
    arn = "arn:aws:iam::1:role/shop"

    signed_url(iam(credentials=None, role_arn=arn, role_session="till-1"))

    assert botocore.roles == [(botocore.found, arn, {"RoleSessionName": "till-1"})]


def test_what_botocore_says_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    FakeBotocore("canary").install(monkeypatch)

    with pytest.raises(SaslAuthenticationFailedError, match="no keys of AWS: BotoCoreE") as caught:
        sent(iam(credentials=None))

    assert "canary" not in str(caught.value)


def test_arguments_are_checked_and_keys_not_shown() -> None:
    with pytest.raises(ConfigurationError, match="'OAUTHBEARER' or 'AWS_MSK_IAM', not 'PLAIN'"):
        MskIam(mechanism="PLAIN")
    with pytest.raises(ConfigurationError, match="region must be one of AWS"):
        MskIam(region="eu-west-1.evil.example/")
    assert "canary" not in repr(KEYS)
    assert "canary" not in repr(iam())
