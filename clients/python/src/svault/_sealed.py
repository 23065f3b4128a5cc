"""Opens sealed deliveries: compact JWE with ECDH-ES and A256GCM (PROTOCOL.md, section 5.4)."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Dict, Mapping, Union

from ._errors import SealedError, UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    _PrivateKey = Union[EllipticCurvePrivateKey, X25519PrivateKey]

#: Four secret fields of 64 KiB, each byte escaped in JSON and all of it in base64url, are less.
_MAX_CHARACTERS = 2_500_000
#: Members of a public key (RFC 7518 section 6.2.1, RFC 8037 section 2), with its number of bytes.
_CURVES = {
    "P-256": ("EC", ("x", "y"), 32),
    "P-384": ("EC", ("x", "y"), 48),
    "X25519": ("OKP", ("x",), 32),
}
_HEADER = {"alg", "enc", "kid", "cty", "epk"}


def create_sealing_key(curve: str = "P-256") -> Dict[str, str]:
    """A new private key as a JWK, to be stored as a secret. The owner gets its :func:`public_jwk`.

    :param curve: ``P-256``, ``P-384`` or ``X25519``
    :raises UsageError: for another curve
    """
    _require_cryptography()
    from cryptography.hazmat.primitives.asymmetric import ec, x25519

    if curve == "X25519":
        return _jwk(curve, x25519.X25519PrivateKey.generate())
    if curve not in _CURVES:
        raise UsageError(f"a sealing key is of {', '.join(_CURVES)}")
    return _jwk(curve, ec.generate_private_key(ec.SECP256R1() if curve == "P-256" else ec.SECP384R1()))


def public_jwk(key: Mapping[str, str]) -> Dict[str, str]:
    """The public part of a sealing key, for ``svault agents edit NAME --sealing-key``."""
    _, coordinates, _ = _CURVES[key["crv"]]
    return {name: key[name] for name in ("crv", "kty", *coordinates)}


def thumbprint(key: Mapping[str, str]) -> str:
    """RFC 7638: SHA-256 over the required members."""
    text = json.dumps(public_jwk(key), separators=(",", ":"), sort_keys=True)
    return _base64url(sha256(text.encode()).digest())


class SealingKey:
    """A private key that opens what was sealed to it."""

    def __init__(self, jwk: Union[str, Mapping[str, str]]) -> None:
        """:raises UsageError: for anything but a private JWK; the message says nothing of it"""
        _require_cryptography()
        try:
            members = json.loads(jwk) if isinstance(jwk, str) else dict(jwk)
            self._curve = members["crv"]
            self._private = _private_key(members)
            computed = _jwk(self._curve, self._private)
            if public_jwk(computed) != public_jwk(members):
                raise ValueError
            self.thumbprint = thumbprint(computed)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UsageError(
                "sealing_key is not a private key of P-256, P-384 or X25519 in JWK form"
            ) from None

    def open(self, text: str) -> bytes:
        """The content of a compact JWE.

        :raises SealedError: with the reason
        """
        if len(text) > _MAX_CHARACTERS:
            raise SealedError("too_large")
        header, (protected, iv, ciphertext, tag) = _parts(text)
        if header["alg"] != "ECDH-ES" or header["enc"] != "A256GCM" or "zip" in header:
            raise SealedError("algorithm")
        if header["kid"] != self.thumbprint:
            raise SealedError("other_key")
        if header["epk"]["crv"] != self._curve:
            raise SealedError("malformed")
        return self._decrypt(header["epk"], protected, iv, ciphertext + tag)

    def _decrypt(self, epk: Mapping[str, str], protected: str, iv: bytes, sealed: bytes) -> bytes:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        try:
            if len(iv) != 12:
                raise ValueError
            return AESGCM(_derived(self._agree(epk))).decrypt(iv, sealed, protected.encode())
        except (ValueError, InvalidTag):
            raise SealedError("not_decryptable") from None

    def _agree(self, epk: Mapping[str, str]) -> bytes:
        from cryptography.hazmat.primitives.asymmetric import ec, x25519

        if isinstance(self._private, x25519.X25519PrivateKey):
            # Raises ValueError for a secret of zeros (RFC 7748 section 6.1).
            return self._private.exchange(x25519.X25519PublicKey.from_public_bytes(_bytes(epk["x"])))
        x, y = (int.from_bytes(_bytes(epk[name]), "big") for name in ("x", "y"))
        # Raises ValueError for what is no point of the curve.
        peer = ec.EllipticCurvePublicNumbers(x, y, self._private.curve).public_key()
        return self._private.exchange(ec.ECDH(), peer)


def _derived(secret: bytes) -> bytes:
    """RFC 7518 section 4.6.2: one round of SHA-256 makes the 256 bits of A256GCM."""
    algorithm = b"A256GCM"
    other = len(algorithm).to_bytes(4, "big") + algorithm + bytes(4) + bytes(4) + (256).to_bytes(4, "big")
    return sha256((1).to_bytes(4, "big") + secret + other).digest()


def _parts(text: str) -> "tuple[Dict[str, Any], tuple[str, bytes, bytes, bytes]]":
    try:
        protected, encrypted_key, iv, ciphertext, tag = text.split(".")
        header = json.loads(_bytes(protected), object_pairs_hook=_unique)
        # With ECDH-ES alone the key is agreed on and not sent (RFC 7518 section 4.6).
        if encrypted_key or set(header) - {"zip"} != _HEADER or header["cty"] != "json":
            raise ValueError
        kind, coordinates, size = _CURVES[header["epk"]["crv"]]
        if set(header["epk"]) != {"kty", "crv", *coordinates} or header["epk"]["kty"] != kind:
            raise ValueError
        if any(len(_bytes(header["epk"][name])) != size for name in coordinates):
            raise ValueError
        sealed_tag = _bytes(tag)
        if len(sealed_tag) != 16:
            raise SealedError("not_decryptable")
        return header, (protected, _bytes(iv), _bytes(ciphertext), sealed_tag)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise SealedError("malformed") from None


def _unique(pairs: "list[tuple[str, Any]]") -> Dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member twice")
    return members


def _private_key(jwk: Mapping[str, str]) -> "_PrivateKey":
    from cryptography.hazmat.primitives.asymmetric import ec, x25519

    _, _, size = _CURVES[jwk["crv"]]
    secret = _bytes(jwk["d"])
    if len(secret) != size:
        raise ValueError
    if jwk["crv"] == "X25519":
        return x25519.X25519PrivateKey.from_private_bytes(secret)
    curve = ec.SECP256R1() if jwk["crv"] == "P-256" else ec.SECP384R1()
    return ec.derive_private_key(int.from_bytes(secret, "big"), curve)


def _jwk(crv: str, key: "_PrivateKey") -> Dict[str, str]:
    from cryptography.hazmat.primitives.asymmetric import x25519
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    kind, _, size = _CURVES[crv]
    if isinstance(key, x25519.X25519PrivateKey):
        x = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        d = key.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
        return {"crv": crv, "kty": kind, "x": _base64url(x), "d": _base64url(d)}
    numbers = key.private_numbers()
    values = {"x": numbers.public_numbers.x, "y": numbers.public_numbers.y, "d": numbers.private_value}
    return {
        "crv": crv,
        "kty": kind,
        **{name: _base64url(value.to_bytes(size, "big")) for name, value in values.items()},
    }


def _bytes(text: str) -> bytes:
    """Base64url without padding, in the one spelling of its bytes."""
    if not re.fullmatch(r"[A-Za-z0-9_-]*", text):
        raise ValueError
    value = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if _base64url(value) != text:
        raise ValueError
    return value


def _base64url(value: bytes) -> str:
    return urlsafe_b64encode(value).rstrip(b"=").decode()


def _require_cryptography() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise SealedError("no_library") from None
