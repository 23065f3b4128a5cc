"""What the control plane and the webhook answer, with its types."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Mapping, Optional


@dataclass(frozen=True)
class Credential:
    """A credential in the clear. Its ``repr`` shows no secret."""

    service_name: str
    #: ``PlainText``, ``JWT``, ``Certificate``, ``SSHKey``, ``RawCredential`` or ``TOTP``.
    token_type: str
    #: The secret: a token, a code, the PEM chain of a certificate or a private key of SSH.
    access_token: str = field(repr=False)
    created_at: datetime
    expiry_time: Optional[datetime] = None
    refresh_token: Optional[str] = field(default=None, repr=False)
    #: ``Certificate``: PEM.
    private_key: Optional[str] = field(default=None, repr=False)
    #: ``SSHKey``.
    public_key: Optional[str] = None
    fingerprint: Optional[str] = None
    #: ``TOTP``: seconds for which the code still holds.
    expires_in: Optional[int] = None


@dataclass(frozen=True)
class Grant:
    """A service that the agent may ask for."""

    service_name: str
    #: ``None``: until it is revoked.
    expires_at: Optional[datetime]


def credential_in(envelope: Mapping[str, object]) -> Credential:
    """Reads what a webhook delivered (PROTOCOL.md, section 5.4).

    :raises ValueError: for anything else; the message holds nothing of it
    """
    token = envelope.get("token")
    if not isinstance(token, dict):
        raise ValueError("no credential")
    expires_in = token.get("expiresIn")
    if expires_in is not None and (type(expires_in) is not int or expires_in < 1):
        raise ValueError("no seconds")
    return Credential(
        service_name=_text(token, "serviceName"),
        token_type=_text(token, "tokenType"),
        access_token=_text(token, "accessToken"),
        created_at=_time(_text(token, "createdAt")),
        expiry_time=_optional_time(token, "expiryTime"),
        refresh_token=_optional_text(token, "refreshToken"),
        private_key=_optional_text(token, "privateKey"),
        public_key=_optional_text(token, "publicKey"),
        fingerprint=_optional_text(token, "fingerprint"),
        expires_in=expires_in,
    )


def grant_in(value: object) -> Grant:
    """Reads one of the ``grants`` of the control plane.

    :raises ValueError: for anything else
    """
    if not isinstance(value, dict):
        raise ValueError("no grant")
    return Grant(_text(value, "serviceName"), _optional_time(value, "grantExpiresAt"))


def _text(members: Mapping[str, object], name: str) -> str:
    value = members.get(name)
    if not isinstance(value, str):
        raise ValueError(f"no text {name}")
    return value


def _optional_text(members: Mapping[str, object], name: str) -> Optional[str]:
    return None if members.get(name) is None else _text(members, name)


def _optional_time(members: Mapping[str, object], name: str) -> Optional[datetime]:
    text = _optional_text(members, name)
    return None if text is None else _time(text)


def _time(text: str) -> datetime:
    # Python before 3.11 reads no Z.
    return datetime.fromisoformat(f"{text[:-1]}+00:00" if text.endswith("Z") else text)
