"""The SASL mechanisms of a listener, as its configuration has them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from pyk.protocol.sasl import ScramMechanism
from pyk.protocol.sasl.jaas import plain_users
from pyk.reference_broker.config.errors import InvalidConfigError
from pyk.reference_broker.controller.scram_requests import find_credential

from .authentication import SaslAuthentication
from .bearer_tokens import read_unsecured
from .exchanges import OAuthBearerExchange, PlainExchange, SaslExchange, ScramExchange
from .principal import Principal

if TYPE_CHECKING:
    from pyk.reference_broker.broker_configs import BrokerConfigs
    from pyk.reference_broker.controller.image import MetadataImage

PLAIN = "PLAIN"
OAUTHBEARER = "OAUTHBEARER"
NewExchange = Callable[[], SaslExchange]


def authentication_of(
    listener: str,
    configs: BrokerConfigs,
    image: MetadataImage,
    *,
    new_nonce: Callable[[], str],
    time_ms: Callable[[], int],
) -> Callable[[Callable[[Principal], object]], SaslAuthentication]:
    """Return what makes the authentication of a connection to a listener.

    Raises ``InvalidConfigError`` for a mechanism that is not served, or a wrong JAAS configuration.
    """
    users = plain_users(configs.jaas_options(listener, PLAIN, "PlainLoginModule"))
    served: dict[str, NewExchange] = {PLAIN: lambda: PlainExchange(users)}
    for mechanism in ScramMechanism:
        served[mechanism.value] = partial(_new_scram, image, mechanism, new_nonce)
    served[OAUTHBEARER] = lambda: OAuthBearerExchange(
        lambda token: read_unsecured(token, time_ms())
    )
    config = configs.listener(listener)
    enabled = _enabled(config.sasl_enabled_mechanisms, served)
    return lambda when_authenticated: SaslAuthentication(
        enabled, config.connections_max_reauth_ms, when_authenticated
    )


def _new_scram(
    image: MetadataImage, mechanism: ScramMechanism, new_nonce: Callable[[], str]
) -> SaslExchange:
    return ScramExchange(partial(find_credential, image, mechanism), new_nonce())


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
