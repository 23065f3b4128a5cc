"""Signed requests (section 3): what a service sends is verified here, in the order of SIG-57."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import time
from dataclasses import dataclass

from wire import Refusal, note

# Strict serialisation only, as SIG-39 allows: one space between items, none before parameters.
INPUT = re.compile(r'sv=(\((?:("[^"\\]*")(?: "[^"\\]*")*)?\)((?:;[a-z]+=(?:-?\d{1,15}|"[^"\\]*"))*))', re.ASCII)
PARAMETERS = {"created", "expires", "nonce", "keyid", "alg", "tag"}
ALWAYS_COVERED = {"@method", "@authority", "@path", "@query"}
FIELD_NAME = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+")
DIGEST_MEMBER = re.compile(r'([a-z*][a-z0-9_.*-]*)=(:[A-Za-z0-9+/=]*:)(?:;[^,]*)?|[a-z*][a-z0-9_.*-]*(?:=[^,]*)?')


class Wrong(Exception):
    """Why a request is refused: for the log, never for the caller (SIG-58, SIG-59)."""


@dataclass
class Signed:
    key_id: str
    created: int
    expires: int
    nonce: str
    base: bytes
    signature: str
    covered: list


def refusal(wrong: Wrong) -> Refusal:
    note(f"signature refused: {wrong}")
    return Refusal("SIGNATURE_INVALID", "the signature is not valid")


def authenticate(request, state) -> Signed:
    """Lets a request through that is signed with a key of ours, once; raises the one refusal (SIG-58) otherwise."""
    try:
        signed = read(request)
        key = state.key(signed.key_id)
        if key is None:
            raise Wrong("unknown key")  # SIG-44; also all that an unbound webhook ever says (SIG-60)
        verify_head(signed, key["secret"])
        request.receive()  # no byte of a stranger's body is read (SIG-61)
        verify_body(request, signed)
        if signed.created <= state.setting("refused_until"):
            raise Wrong("made before a backup was restored")  # TIX-40
        if not state.claim_nonce(signed.key_id, signed.nonce, signed.expires + 30):
            raise Wrong("nonce was used")  # SIG-54
    except Wrong as wrong:
        raise refusal(wrong) from None
    return signed


def read(request) -> Signed:
    """The two headers and what they cover; nothing is verified yet."""
    inputs, signatures = request.values("signature-input"), request.values("signature")
    if len(inputs) != 1 or len(signatures) != 1:
        raise Wrong("Signature-Input or Signature is absent or stands twice")  # SIG-26
    match = INPUT.fullmatch(inputs[0])  # one member, called sv (SIG-27)
    if match is None:
        raise Wrong("Signature-Input is not in the form of the profile")
    covered = re.findall(r'"([^"]*)"', match.group(1)[: match.start(3) - match.start(1)])
    given = [part.split("=", 1) for part in match.group(3).split(";")[1:]]
    parameters = dict(given)
    if len(given) != len(parameters) or set(parameters) != PARAMETERS:
        raise Wrong("not the six parameters, once each")  # SIG-28, SIG-30
    text = {name: value[1:-1] for name, value in parameters.items() if value.startswith('"')}
    if set(text) != {"nonce", "keyid", "alg", "tag"}:
        raise Wrong("created and expires are integers, the others strings")  # SIG-34
    if text["alg"] != "hmac-sha256" or text["tag"] != "sv-webhook-v1":
        raise Wrong("another algorithm or tag")  # SIG-31 to SIG-33
    if not re.fullmatch(r"[A-Za-z0-9_-]{22,64}", text["nonce"]):
        raise Wrong("the nonce is not 22 to 64 characters of base64url")  # SIG-35
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", text["keyid"]):
        raise Wrong("the key id is not of its form")  # SIG-37
    base = signature_base(request, covered, match.group(1))
    created, expires = int(parameters["created"]), int(parameters["expires"])
    return Signed(text["keyid"], created, expires, text["nonce"], base, signatures[0], covered)


def signature_base(request, covered: list, received: str) -> bytes:
    if len(set(covered)) != len(covered) or not ALWAYS_COVERED <= set(covered):
        raise Wrong("a component stands twice, or one of the four is not covered")  # SIG-05, SIG-23
    if request.values("sv-ticket") and "sv-ticket" not in covered:
        raise Wrong("sv-ticket is not covered")  # SIG-10
    if request.values("sv-target") and "sv-target" not in covered:
        raise Wrong("sv-target is not covered")  # HTP-08
    if request.query is not None:
        raise Wrong("a signed request has no query")  # SIG-18
    derived = {
        "@method": request.method,
        "@authority": request.settings.authority,  # SIG-12: never from Host
        "@path": request.settings.prefix + request.endpoint,  # SIG-15, SIG-16
        "@query": "?",
    }
    lines = []
    for name in covered:
        if name in derived:
            value = derived[name]
        elif FIELD_NAME.fullmatch(name) and len(request.values(name)) == 1:  # SIG-08, SIG-20, SIG-21, SIG-24, SIG-25
            value = request.values(name)[0]
        else:
            raise Wrong(f"covers {name[:40]!r}, which is no header that stands here once")
        lines.append(f'"{name}": {value}')
    lines.append(f'"@signature-params": {received}')  # SIG-40: as received
    return "\n".join(lines).encode("latin-1")  # the bytes as they came: headers are read as Latin-1


def verify_head(signed: Signed, secret: bytes) -> None:
    """MAC, then times (SIG-57)."""
    mac = base64.b64encode(hmac.new(secret, signed.base, hashlib.sha256).digest()).decode()
    # Text against text: a decoder would let other spellings of the same bytes pass (SIG-42).
    if not hmac.compare_digest(f"sv=:{mac}:".encode(), signed.signature.encode("latin-1")):  # SIG-45, SIG-46
        # What you will want to see. A covered ticket or Authorization is no text for a log (CRE-06).
        shown = re.sub(r'^"(?!@|content-)([^"]*)": .*$', r'"\1": …', signed.base.decode("latin-1"), flags=re.M)
        raise Wrong("the MAC is another one; the base here is:\n" + shown)
    now = time.time()
    if not 0 < signed.expires - signed.created <= 60:
        raise Wrong("lives longer than 60 seconds, or not at all")  # SIG-47
    if not signed.created <= now + 30 or not now <= signed.expires + 30:
        raise Wrong("from the future or expired")  # SIG-48, SIG-49


def verify_body(request, signed: Signed) -> None:
    if request.body and not {"content-type", "content-digest"} <= set(signed.covered):
        raise Wrong("the body is not covered")  # SIG-02
    digests = request.values("content-digest")
    if digests or request.body:
        check_digest(digests, request.body)


def check_digest(values: list, body: bytes) -> None:
    members = [part.strip(" \t") for part in ",".join(values).split(",")]
    matches = [DIGEST_MEMBER.fullmatch(part) for part in members]
    if None in matches:
        raise Wrong("Content-Digest is not in its form")
    digests = [match.group(2) for match in matches if re.match(r"sha-256(?=[=;]|$)", match.group())]
    expected = ":" + base64.b64encode(hashlib.sha256(body).digest()).decode() + ":"
    if digests != [expected]:  # SIG-51 to SIG-53
        raise Wrong("the sha-256 digest is absent, doubled or not that of the body")
