"""Kerberos and Amazon MSK under the names of Java's login modules."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients.config import AdminConfig
from pyk.clients.errors import ConfigurationError
from pyk.clients.security import Kerberos, MskIam

KRB5 = "com.sun.security.auth.module.Krb5LoginModule required"
IAM = "software.amazon.msk.auth.iam.IAMLoginModule required"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
HANDLER = "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler"


def credentials(**properties: str) -> Any:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    base = {"bootstrap.servers": "broker:9092", "security.protocol": "SASL_SSL"}
    return AdminConfig.from_properties(base | given).credentials()


@pytest.mark.parametrize(
    ("properties", "made"),
    [
        ({"sasl_mechanism": "GSSAPI"}, Kerberos()),
        (
            {"sasl_mechanism": "GSSAPI", "sasl_kerberos_service_name": "stream"},
            Kerberos(service_name="stream"),
        ),
        (
            {"sasl_jaas_config": f'{KRB5} useTicketCache=true serviceName="stream";'},
            Kerberos(service_name="stream"),
        ),
        (
            {
                "sasl_jaas_config": f'{KRB5} useKeyTab=true storeKey=true keyTab="/etc/a.keytab" '
                'principal="alice@EXAMPLE";',
                "sasl_kerberos_service_name": "stream",
            },
            Kerberos(service_name="stream", principal="alice@EXAMPLE", keytab="/etc/a.keytab"),
        ),
        (
            {"sasl_jaas_config": f'{KRB5} useKeyTab=false keyTab="/etc/a.keytab";'},
            Kerberos(),
        ),
        ({"sasl_mechanism": "AWS_MSK_IAM"}, MskIam(mechanism="AWS_MSK_IAM")),
        (
            {"sasl_jaas_config": f'{IAM} awsProfileName="shop" awsDebugCreds=true;'},
            MskIam(mechanism="AWS_MSK_IAM", profile="shop"),
        ),
        (
            {
                "sasl_jaas_config": f'{OAUTH} awsRoleArn="arn:aws:iam::1:role/shop" '
                'awsRoleSessionName="till";',
                "sasl_login_callback_handler_class": HANDLER,
            },
            MskIam(role_arn="arn:aws:iam::1:role/shop", role_session="till"),
        ),
    ],
)
def test_a_properties_file_of_a_java_client_is_understood(
    properties: dict[str, str], made: object, caplog: pytest.LogCaptureFixture
) -> None:
    assert credentials(**properties) == made
    assert caplog.records == []


def test_what_cannot_be_done_is_named() -> None:
    with pytest.raises(ConfigurationError, match="has awsRoleExternalId, which pyk does not"):
        credentials(sasl_jaas_config=f'{IAM} awsRoleExternalId="canary";')
    with pytest.raises(ConfigurationError, match="service_name must be"):
        credentials(sasl_mechanism="GSSAPI", sasl_kerberos_service_name="kafka/host")


def test_the_service_of_kerberos_has_no_effect_on_other_mechanisms(
    caplog: pytest.LogCaptureFixture,
) -> None:
    credentials(
        sasl_mechanism="PLAIN",
        sasl_username="alice",
        sasl_password="canary",
        sasl_kerberos_service_name="kafka",
    )

    assert "sasl.kerberos.service.name (sasl_mechanism is PLAIN)" in caplog.text
