"""Makes sealed.json and recipients.json with Python's `cryptography`, so that they owe nothing to our code.

Frozen: running this again changes no byte. Usage: python3 shared/vectors/make/sealed.py
"""

import base64
import hashlib
import json
import pathlib
import struct

from cryptography.hazmat.primitives.asymmetric import ec, x25519
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.concatkdf import ConcatKDFHash
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

FOLDER = pathlib.Path(__file__).resolve().parent.parent
EC_CURVES = {"P-256": (ec.SECP256R1(), 32), "P-384": (ec.SECP384R1(), 48)}
CURVES = [*EC_CURVES, "X25519"]
ENVELOPE = json.dumps(
    {"token": {"accessToken": "the-credential", "serviceName": "github", "tokenType": "PlainText", "createdAt": "2026-01-01T00:00:00.000Z"}},
    separators=(",", ":"),
)
# RFC 7748 section 6.1: with these a secret is zero, whatever the other key is.
SMALL_ORDER = {
    "zero": "00" * 32,
    "one": "01" + "00" * 31,
    "a point of order 8": "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "p - 1": "ec" + "ff" * 30 + "7f",
    "p": "ed" + "ff" * 30 + "7f",
}


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def key(curve: str, label: str):
    """Nobody's key: its number is a hash."""
    seed = hashlib.sha384(f"svault vector {curve} {label}".encode()).digest()
    if curve == "X25519":
        return x25519.X25519PrivateKey.from_private_bytes(seed[:32])
    group, size = EC_CURVES[curve]
    # Below the order of the group, whose first byte is 255.
    return ec.derive_private_key(int.from_bytes(bytes([seed[0] & 0x7F]) + seed[1:size], "big"), group)


def public(curve: str, private) -> dict:
    if curve == "X25519":
        return {"kty": "OKP", "crv": curve, "x": b64(private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))}
    size, numbers = EC_CURVES[curve][1], private.public_key().public_numbers()
    return {"kty": "EC", "crv": curve, "x": b64(numbers.x.to_bytes(size, "big")), "y": b64(numbers.y.to_bytes(size, "big"))}


def private_jwk(curve: str, private) -> dict:
    if curve == "X25519":
        return {**public(curve, private), "d": b64(private.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption()))}
    number = private.private_numbers().private_value
    return {**public(curve, private), "d": b64(number.to_bytes(EC_CURVES[curve][1], "big"))}


def thumbprint(jwk: dict) -> str:
    required = {name: jwk[name] for name in sorted(jwk) if name in ("crv", "kty", "x", "y")}
    return b64(hashlib.sha256(json.dumps(required, separators=(",", ":")).encode()).digest())


def agree(curve: str, private, other) -> bytes:
    return private.exchange(other.public_key()) if curve == "X25519" else private.exchange(ec.ECDH(), other.public_key())


def seal(curve: str, recipient, header: dict | None = None, epk: dict | None = None, secret: bytes | None = None) -> str:
    """A compact JWE by RFC 7516 and RFC 7518 section 4.6; `epk` and `secret` stand in for the right ones."""
    ephemeral = key(curve, "ephemeral")
    secret = agree(curve, ephemeral, recipient) if secret is None else secret
    info = struct.pack(">I", 7) + b"A256GCM" + struct.pack(">III", 0, 0, 256)
    cek = ConcatKDFHash(SHA256(), 32, info).derive(secret)
    said = {"alg": "ECDH-ES", "enc": "A256GCM", "kid": thumbprint(public(curve, recipient)), "cty": "json",
            "epk": epk or public(curve, ephemeral), **(header or {})}
    protected = b64(json.dumps(said, separators=(",", ":")).encode())
    nonce = bytes(range(12))
    sealed = AESGCM(cek).encrypt(nonce, ENVELOPE.encode(), protected.encode())
    return ".".join([protected, "", b64(nonce), b64(sealed[:-16]), b64(sealed[-16:])])


def refuse(reason: str, breaks: str) -> dict:
    return {"expect": "refuse", "reason": reason, "breaks": breaks}


def sealed_vectors() -> list:
    vectors = []
    for curve in CURVES:
        mine, other = key(curve, "recipient"), key(curve, "another recipient")
        common = {"privateJwk": private_jwk(curve, mine), "thumbprint": thumbprint(public(curve, mine)), "plaintext": ENVELOPE}

        def add(name: str, jwe: str, expected: dict) -> None:
            vectors.append({"name": f"{curve}: {name}", **expected, **common, "jwe": jwe})

        add("whole", seal(curve, mine), {"expect": "accept"})
        add("sealed to another key", seal(curve, other), refuse("other_key", "CRE-18"))
        add("sealed to another key under this name", seal(curve, other, {"kid": common["thumbprint"]}), refuse("not_decryptable", "CRE-18"))
        add("another content", seal(curve, mine, {"cty": "JWT"}), refuse("malformed", "CRE-19"))
        add("another cipher in its header", seal(curve, mine, {"enc": "A128GCM"}), refuse("algorithm", "CRE-19"))
        add("a wrapped key in its header", seal(curve, mine, {"alg": "ECDH-ES+A256KW"}), refuse("algorithm", "CRE-19"))
        add("compression in its header", seal(curve, mine, {"zip": "DEF"}), refuse("algorithm", "CRE-19"))
        ephemeral = key(curve, "ephemeral")
        add("a private ephemeral key", seal(curve, mine, epk=private_jwk(curve, ephemeral)), refuse("malformed", "CRE-23"))
        for stranger in CURVES:
            if stranger != curve:
                epk = public(stranger, key(stranger, "ephemeral"))
                add(f"an ephemeral key of {stranger}", seal(curve, mine, epk=epk), refuse("malformed", "CRE-23"))
        right = public(curve, ephemeral)
        if curve == "X25519":
            for what, point in SMALL_ORDER.items():
                epk = {**right, "x": b64(bytes.fromhex(point))}
                jwe = seal(curve, mine, epk=epk, secret=bytes(32))
                add(f"a secret of zeros, by {what}", jwe, refuse("not_decryptable", "CRE-23"))
        else:
            add("an ephemeral key off the curve", seal(curve, mine, epk={**right, "y": right["x"]}), refuse("not_decryptable", "CRE-23"))
    return vectors


def recipient_vectors() -> list:
    vectors = []
    keys = {curve: public(curve, key(curve, "recipient")) for curve in CURVES}
    for curve, jwk in keys.items():
        vectors.append({"name": curve, "expect": "accept", "jwk": jwk, "thumbprint": thumbprint(jwk)})
        named = {**jwk, "kid": "a", "use": "enc", "alg": "ECDH-ES"}
        vectors.append({"name": f"{curve} with what may stand beside it", "expect": "accept", "jwk": named, "thumbprint": thumbprint(jwk)})
        vectors.append({"name": f"{curve}, private", "expect": "refuse", "breaks": "SAV-09", "jwk": private_jwk(curve, key(curve, "recipient"))})
    p256, p384, x = keys["P-256"], keys["P-384"], keys["X25519"]

    def refused(name: str, jwk: dict, breaks: str = "SAV-09") -> None:
        vectors.append({"name": name, "expect": "refuse", "breaks": breaks, "jwk": jwk})

    refused("X25519 as EC", {**x, "kty": "EC"})
    refused("P-256 as OKP", {**p256, "kty": "OKP"})
    refused("coordinates of P-256 as P-384", {**p256, "crv": "P-384"})
    refused("coordinates of P-384 as P-256", {**p384, "crv": "P-256"})
    refused("P-384 without y", {name: value for name, value in p384.items() if name != "y"})
    refused("the bytes of X25519 as Ed25519", {**x, "crv": "Ed25519"})
    refused("31 bytes of X25519", {**x, "x": b64(bytes(31))})
    refused("a number of bytes: RSA", {"kty": "RSA", "n": p384["x"], "e": "AQAB"})
    for curve, jwk in (("P-256", p256), ("P-384", p384)):
        refused(f"off {curve}", {**jwk, "y": jwk["x"]}, "SAV-39")
    for what, point in SMALL_ORDER.items():
        refused(f"X25519 that agrees on zeros: {what}", {**x, "x": b64(bytes.fromhex(point))}, "SAV-39")
    return vectors


def write(name: str, about: str, vectors: list) -> None:
    lines = ",\n".join(f"    {json.dumps(vector)}" for vector in vectors)
    (FOLDER / name).write_text(f'{{\n  "about": {json.dumps(about)},\n  "vectors": [\n{lines}\n  ]\n}}\n')


write("sealed.json", "Sealed deliveries. privateJwk, thumbprint: whom they are for; jwe: the body of the answer; plaintext: what is in it.", sealed_vectors())
write("recipients.json", "Recipients of a store. jwk: the key; thumbprint: by RFC 7638.", recipient_vectors())
