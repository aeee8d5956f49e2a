"""The OpenID provider's client: django-allauth's, and what is stricter here.

PKCE is always on. The nonce is a hash of PKCE's verifier, which the session keeps, so that a token is good for the
browser alone that has asked for it. The signature of a token is always checked, and all must be of one subject.
"""

import hashlib
from typing import Any

import jwt
import requests
from allauth.account.utils import get_next_redirect_url
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.models import SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.base.constants import AuthProcess
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from django.urls import reverse

from webapp.accounts.claims import Claims
from webapp.environment import is_safe_address

PROVIDER = "openid_connect"
WELL_KNOWN = "/.well-known/openid-configuration"
SIGNATURES = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""with a key that the provider alone has: a token that is signed with the client's secret, or not at all, is refused"""
LEEWAY_SECONDS = 30
"""by which the clocks may differ"""
DISCOVERED_FOR_SECONDS = 300
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
CALLBACK = "provider:answer"


class OpenIDError(OAuth2Error):  # type: ignore[misc]  # allauth has no types
    """The provider's answer cannot be believed; the words are for the log."""


class OpenIDClient(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]
    """One log-in: asks for a token with the code that the browser brings, and checks it."""

    nonce = ""

    @property
    def openid_config(self) -> dict[str, Any]:
        """What the provider says of itself. Raises OpenIDError, requests.RequestException."""
        return discovered(settings.OIDC_ADDRESS)

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:  # noqa: ARG002  allauth's
        """Where the provider sends browsers back."""
        return request.build_absolute_uri(reverse(CALLBACK))

    def get_access_token_data(
        self, request: HttpRequest, app: SocialApp, client: Any, pkce_code_verifier: str = ""
    ) -> dict[str, Any]:
        """The provider's answer to the code; notes the nonce that the token must have."""
        self.nonce = nonce_of(pkce_code_verifier)
        answer: dict[str, Any] = super().get_access_token_data(request, app, client, pkce_code_verifier)
        return answer

    def parse_token(self, data: dict[str, Any]) -> SocialToken:
        """The access token, which is used once, for userinfo, and not stored."""
        return SocialToken(token=str(data["access_token"]))

    def complete_login(self, request: HttpRequest, app: SocialApp, token: SocialToken, **more: Any) -> SocialLogin:
        """Who has logged in there. Raises OpenIDError, requests.RequestException."""
        config = self.openid_config
        found = checked_token(more["response"].get("id_token"), config, app.client_id, self.nonce)
        address = config.get("userinfo_endpoint")
        if isinstance(address, str) and is_safe_address(address):
            userinfo = _json_at(address, {"Authorization": f"Bearer {token.token}"})
            if userinfo.get("sub") != found["sub"]:
                raise OpenIDError("userinfo is of another subject than the token")
            found = {**found, **userinfo}
        try:
            return self.get_provider().sociallogin_from_response(request, Claims.of(found).to_json())
        except ValueError as error:
            raise OpenIDError(str(error)) from None


class OpenIDProvider(OpenIDConnectProvider):  # type: ignore[misc]
    """The provider of the settings, the only one."""

    oauth2_adapter_class = OpenIDClient

    @property
    def sub_id(self) -> str:
        """Its address: a subject of another provider is somebody else."""
        return str(settings.OIDC_ADDRESS)

    def get_pkce_params(self) -> dict[str, Any]:
        """What the address of the log-in page there gets for PKCE, and the nonce."""
        params: dict[str, Any] = super().get_pkce_params()
        return {**params, "nonce": nonce_of(params["code_verifier"])}

    def get_redirect_from_request_kwargs(self, request: HttpRequest) -> dict[str, Any]:
        """What a request may choose: the page to go on to."""
        return {"process": AuthProcess.LOGIN, "next_url": get_next_redirect_url(request)}

    def extract_uid(self, data: dict[str, Any]) -> str:
        """The subject."""
        return str(data["sub"])

    def extract_common_fields(self, _data: dict[str, Any]) -> dict[str, Any]:
        """Nothing: `ProviderAdapter` reads the claims."""
        return {}

    def extract_email_addresses(self, _data: dict[str, Any]) -> list[Any]:
        """None: a user has the address of the last log-in, and no list."""
        return []


def the_client() -> SocialApp:
    """This installation as the provider knows it."""
    return SocialApp(
        provider=PROVIDER,
        provider_id=PROVIDER,
        name=settings.OIDC_NAME,
        client_id=settings.OIDC_CLIENT_ID,
        secret=settings.OIDC_CLIENT_SECRET,
        settings={"server_url": settings.OIDC_ADDRESS, "oauth_pkce_enabled": True},
    )


def nonce_of(verifier: str) -> str:
    """The nonce of the log-in that has this verifier of PKCE."""
    return hashlib.sha256(b"nonce " + verifier.encode()).hexdigest()


def discovered(address: str) -> dict[str, Any]:
    """What the provider at `address` says of itself. Raises OpenIDError, requests.RequestException."""
    key = f"openid-{hashlib.sha256(address.encode()).hexdigest()}"
    found: dict[str, Any] | None = cache.get(key)
    if found is None:
        found = _json_at(address.rstrip("/") + WELL_KNOWN, {})
        _require_sound(found, address)
        cache.set(key, found, DISCOVERED_FOR_SECONDS)
    return found


def _require_sound(found: dict[str, Any], address: str) -> None:
    issuer = found.get("issuer")
    if not isinstance(issuer, str) or issuer.rstrip("/") != address.rstrip("/"):
        raise OpenIDError(f"the provider calls itself {issuer!r}: PLACETO_OIDC_ADDRESS must be the same")
    for name in ENDPOINTS:
        if not is_safe_address(str(found.get(name, ""))):
            raise OpenIDError(f"the provider's {name} is missing, or goes without TLS")


def checked_token(token: object, config: dict[str, Any], client_id: str, nonce: str) -> dict[str, Any]:
    """The claims of an id_token. Raises OpenIDError if it is not the provider's, for us, for this log-in, and valid."""
    if not isinstance(token, str):
        raise OpenIDError("the provider sends no id_token")
    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            key=_key_of(token, config["jwks_uri"]),
            algorithms=SIGNATURES,
            audience=client_id,
            issuer=config["issuer"],
            leeway=LEEWAY_SECONDS,
            options={"require": ["exp", "iat", "sub", "aud", "iss"]},
        )
    except jwt.PyJWTError as error:
        raise OpenIDError(f"the id_token is refused: {error}") from None
    if claims.get("nonce") != nonce:
        raise OpenIDError("the id_token is of another log-in: its nonce differs")
    if claims.get("azp", client_id) != client_id:
        raise OpenIDError("the id_token is for another client")
    return claims


def _key_of(token: str, address: str) -> jwt.PyJWK:
    """The key that the token names; a provider with one key need not name it."""
    keys = jwt.PyJWKSet.from_dict(_json_at(address, {})).keys
    name = jwt.get_unverified_header(token).get("kid")
    found = [key for key in keys if key.public_key_use in (None, "sig") and name in (None, key.key_id)]
    if len(found) != 1:
        raise jwt.InvalidKeyError("the provider has no key, or several, that it may be signed with")
    return found[0]


def _json_at(address: str, headers: dict[str, str]) -> dict[str, Any]:
    with get_adapter().get_requests_session() as session:
        response: requests.Response = session.get(address, headers=headers)
    response.raise_for_status()
    found = response.json()
    if not isinstance(found, dict):
        raise OpenIDError("the provider sends something else than a JSON object")
    return found
