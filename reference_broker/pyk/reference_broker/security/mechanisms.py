"""The SASL mechanisms of a listener, as its configuration has them. Pure."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from pyk.protocol.sasl import ScramMechanism
from pyk.protocol.sasl.jaas import plain_users
from pyk.reference_broker.config.errors import InvalidConfigError
from pyk.reference_broker.controller.delegation_tokens import TokenSettings
from pyk.reference_broker.controller.scram_requests import find_credential

from .authentication import SaslAuthentication
from .bearer_tokens import read_unsecured
from .exchanges import OAuthBearerExchange, PlainExchange, SaslExchange, ScramExchange
from .principal import Login, Principal
from .signed_tokens import Keys, TokenRules, read_signed
from .token_logins import TokenLogins

if TYPE_CHECKING:
    from pyk.reference_broker.broker_configs import BrokerConfigs
    from pyk.reference_broker.config import ListenerConfig
    from pyk.reference_broker.controller.image import MetadataImage

log = logging.getLogger(__name__)

PLAIN = "PLAIN"
OAUTHBEARER = "OAUTHBEARER"
SIGNED = "OAuthBearerValidatorCallbackHandler"
UNSIGNED = "OAuthBearerUnsecuredValidatorCallbackHandler"
NewExchange = Callable[[], SaslExchange]


def authentication_of(
    listener: str,
    configs: BrokerConfigs,
    image: MetadataImage,
    *,
    new_nonce: Callable[[], str],
    time_ms: Callable[[], int],
    keys: Keys | None = None,
) -> Callable[[Callable[[Principal], object]], SaslAuthentication]:
    """Return what makes the authentication of a connection to a listener.

    ``keys`` are those of the identity provider whose tokens are taken; without them, tokens are not
    signed. Raises ``InvalidConfigError`` for a mechanism that is not served, or a wrong JAAS
    configuration.
    """
    users = plain_users(configs.jaas_options(listener, PLAIN, "PlainLoginModule"))
    served: dict[str, NewExchange] = {PLAIN: lambda: PlainExchange(users)}
    tokens = TokenLogins(TokenSettings.of(configs.broker), image)

    def new_scram(mechanism: ScramMechanism) -> SaslExchange:
        return ScramExchange(
            partial(find_credential, image, mechanism),
            new_nonce(),
            lambda token_id: tokens.find(mechanism, token_id, time_ms()),
        )

    for mechanism in ScramMechanism:
        served[mechanism.value] = partial(new_scram, mechanism)
    validate = _token_validation(configs.listener(listener, OAUTHBEARER), keys, time_ms)
    served[OAUTHBEARER] = lambda: OAuthBearerExchange(validate)
    config = configs.listener(listener)
    enabled = _enabled(config.sasl_enabled_mechanisms, served)
    if PLAIN in enabled and not users:
        log.warning(
            'Nobody can log in by PLAIN at listener %s: give user_NAME="PASSWORD" in '
            "listener.name.%s.plain.sasl.jaas.config",
            listener,
            listener.lower(),
        )
    return lambda when_authenticated: SaslAuthentication(
        enabled, config.connections_max_reauth_ms, when_authenticated
    )


def has_signed_tokens(listener: str, configs: BrokerConfigs) -> bool:
    """Return whether a listener takes tokens that an identity provider signed.

    Raises ``InvalidConfigError`` if it is to validate tokens in a way that is not served: nobody
    may be let in for a reason that the configuration does not have.
    """
    config = configs.listener(listener, OAUTHBEARER)
    if OAUTHBEARER not in config.sasl_enabled_mechanisms:
        return False
    handler = config.sasl_server_callback_handler_class
    kind = None if handler is None else handler.strip().rpartition(".")[2]
    has_url = config.sasl_oauthbearer_jwks_endpoint_url is not None
    option = "sasl.server.callback.handler.class"
    if kind not in (None, SIGNED, UNSIGNED):
        text = f"{option}: {handler!r:.100} is not served; use {SIGNED} or {UNSIGNED}"
        raise InvalidConfigError(text, name=option)
    if kind == SIGNED and not has_url:
        text = f"{option}: {SIGNED} needs sasl.oauthbearer.jwks.endpoint.url"
        raise InvalidConfigError(text, name=option)
    return has_url


def _token_validation(
    config: ListenerConfig, keys: Keys | None, time_ms: Callable[[], int]
) -> Callable[[str], Login]:
    if keys is None:
        return lambda token: read_unsecured(token, time_ms())
    rules = TokenRules(
        audiences=config.sasl_oauthbearer_expected_audience,
        issuer=config.sasl_oauthbearer_expected_issuer,
        subject_claim=config.sasl_oauthbearer_sub_claim_name,
        scope_claim=config.sasl_oauthbearer_scope_claim_name,
        clock_skew_seconds=config.sasl_oauthbearer_clock_skew_seconds,
    )
    return lambda token: read_signed(token, keys.verifies, rules, time_ms())


def _enabled(names: tuple[str, ...], served: Mapping[str, NewExchange]) -> dict[str, NewExchange]:
    option = "sasl.enabled.mechanisms"
    for name in names:
        if name not in served:
            raise InvalidConfigError(
                f"{option}: {name} is not served; use some of {', '.join(served)}", name=option
            )
    if not names:
        raise InvalidConfigError(f"{option}: at least one mechanism is needed", name=option)
    return {name: served[name] for name in names}
