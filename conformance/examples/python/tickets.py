"""Tickets (section 4): what agents and browsers show, and what /v1/proxy gets in `sv-ticket`."""

from __future__ import annotations

import hashlib
import hmac
import re
import time

import http_apis
from wire import Refusal, b64url, from_b64url, is_service_name, note, parse_object

PART = r"[A-Za-z0-9_-]+"
SUBJECT = re.compile(r"(?:agt|prx|usr)_.+")


class Wrong(Exception):
    """Why a ticket is refused: for the log alone (TIX-31)."""


def accept(ticket: str | None, op: str, state, settings) -> dict:
    """The claims of a ticket that holds for this endpoint; it is used up by that, `proxy` aside (TIX-33, TIX-38)."""
    try:
        claims = verify(ticket, op, state, settings)
        if op != "proxy" and not state.claim_ticket(claims["jti"], claims["exp"] + 30):
            raise Wrong("was used")
    except (Wrong, Refusal, ValueError, KeyError) as wrong:
        reason = wrong if isinstance(wrong, Wrong) else "is not of its form"  # other texts could hold the ticket
        note(f"ticket refused: {reason}")
        raise Refusal("TICKET_INVALID", "the ticket is not valid") from None
    return claims


def verify(ticket: str | None, op: str, state, settings) -> dict:
    if ticket is None or len(ticket) > 4096 or not re.fullmatch(rf"{PART}\.{PART}\.{PART}", ticket):
        raise Wrong("is not a JWS in compact form of at most 4096 characters")  # TIX-01, TIX-05
    header_part, claims_part, mac_part = ticket.split(".")
    header = parse_object(from_b64url(header_part))
    if header != {"alg": "HS256", "typ": "sv-ticket+jwt", "kid": header.get("kid")}:
        raise Wrong("has another header")  # TIX-03, TIX-04
    key = state.key(header["kid"]) if isinstance(header["kid"], str) else None
    if key is None or key["stage"] == "pending":
        raise Wrong("names no key that holds for tickets")  # ROT-08
    mac = hmac.new(key["secret"], f"{header_part}.{claims_part}".encode(), hashlib.sha256).digest()
    if not hmac.compare_digest(b64url(mac), mac_part):  # as text: the unused bits count too (TIX-02, TIX-29, TIX-30)
        raise Wrong("has another MAC")
    # A null is as good as an absent claim (TRN-10); claims that are not looked at are ignored (TIX-28).
    claims = {name: value for name, value in parse_object(from_b64url(claims_part)).items() if value is not None}
    check_claims(claims, op, state, settings)
    return claims


def check_claims(claims: dict, op: str, state, settings) -> None:
    if claims["iss"] != settings.service_url or claims["aud"] != state.setting("webhook_id"):
        raise Wrong("is from another service or for another webhook")  # TIX-07 to TIX-09
    if claims["op"] != op:
        raise Wrong("is for another endpoint")  # TIX-12
    if not isinstance(claims["sub"], str) or not SUBJECT.fullmatch(claims["sub"]):
        raise Wrong("has no subject")  # TIX-10
    if not is_service_name(claims["svc"]):
        raise Wrong("has no service name")  # TIX-13
    if not isinstance(claims["jti"], str) or not re.fullmatch(r"[A-Za-z0-9_-]{22,64}", claims["jti"]):
        raise Wrong("has no id of 22 to 64 characters")  # TIX-14
    issued, expires, now = claims["iat"], claims["exp"], time.time()
    if type(issued) is not int or type(expires) is not int:  # TIX-15
        raise Wrong("has times that are no integers")
    if not 0 < expires - issued <= (300 if op == "store" else 60) or not issued <= now + 30 or not now <= expires + 30:
        raise Wrong("is expired, from the future or lives too long")  # TIX-16 to TIX-18
    if issued <= state.setting("refused_until"):
        raise Wrong("is from before a backup was restored")  # TIX-40
    if op == "credential":
        if claims.get("rfp") not in ("none", "auto"):
            raise Wrong("has no refresh policy")  # TIX-20
        if not claims["sub"].startswith("usr_") and not is_text(claims.get("gnt")):
            raise Wrong("has no grant")  # TIX-19
    if op == "proxy" and not http_apis.is_method(claims.get("htm")):
        raise Wrong("has no method")  # TIX-23, HTP-10
    if op == "proxy" and not is_text(claims.get("prx")):
        raise Wrong("has no proxy")  # TIX-24
    if op == "store" and (type(claims.get("ifv", 0)) is not int or claims.get("ifv", 0) < 0):
        raise Wrong("has an ifv that is no version")  # TIX-25
    if "cnf" in claims:
        thumbprint = claims["cnf"].get("jkt") if isinstance(claims["cnf"], dict) else None
        if not isinstance(thumbprint, str) or not re.fullmatch(r"[A-Za-z0-9_-]{43}", thumbprint):
            raise Wrong("has a cnf that is no thumbprint")  # TIX-21


def is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""
