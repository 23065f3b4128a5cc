"""What every part needs: refusals, strict JSON, times, base64url and names (sections 2, 5 and 9 of PROTOCOL.md)."""

from __future__ import annotations

import base64
import json
import math
import re
import sys
import time
import unicodedata
from datetime import datetime, timezone

# Section 9. Codes of endpoints that this webhook does not have are left out (ERR-01).
STATUS = {
    "INVALID_REQUEST": 400, "SECRET_FIELD": 400,
    "SIGNATURE_INVALID": 401, "TICKET_INVALID": 401,
    "DESTINATION_NOT_ALLOWED": 403, "REQUEST_NOT_ALLOWED": 403, "DELIVERY_NOT_ALLOWED": 403,
    "ORIGIN_NOT_ALLOWED": 403, "SETUP_REQUIRED": 403,
    "NOT_FOUND": 404, "METHOD_NOT_ALLOWED": 405, "VERSION_CONFLICT": 409, "REFRESH_NEEDED": 409,
    "CODE_USED": 410, "CODE_EXPIRED": 410, "TOO_LARGE": 413,
    "EMPTY_TOKEN": 422, "NOT_INJECTABLE": 422, "REAUTH_NEEDED": 422, "RATE_LIMITED": 429,
    "INTERNAL": 500, "UPSTREAM_ERROR": 502, "PROVIDER_ERROR": 502, "UPSTREAM_TIMEOUT": 504, "PROVIDER_TIMEOUT": 504,
}


class Refusal(Exception):
    """An answer `{ error, code }` (TRN-33). The text says nothing of what the caller must not learn."""

    def __init__(self, code: str, text: str, **headers: str):
        super().__init__(text)
        self.code, self.status = code, STATUS[code]
        self.body = {"error": text, "code": code}
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


def invalid(text: str) -> Refusal:
    return Refusal("INVALID_REQUEST", text)


def note(text: str) -> None:
    """A line of the log: in one piece, since threads write at the same time; never with a secret in it."""
    sys.stderr.write(f"{written(time_text(time.time()))} {text}\n")
    sys.stderr.flush()


# JSON

def parse_object(raw: bytes) -> dict:
    """One JSON object; refuses what json.loads would let pass (TRN-02 to TRN-05, TRN-12)."""
    try:
        # json.loads(bytes) would guess the encoding and skip a byte order mark; json.loads(str) refuses one (TRN-03).
        value = json.loads(raw.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_none, parse_float=_finite)
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # fails for lone surrogates (TRN-12)
        if not isinstance(value, dict) or _depth(value) > 32:  # TRN-04
            raise ValueError
    except (ValueError, RecursionError):  # Unicode errors are ValueErrors
        raise invalid("the body is not one JSON object") from None
    return value


def _unique(pairs: list) -> dict:
    members = dict(pairs)
    if len(members) != len(pairs):  # TRN-05
        raise ValueError
    return members


def _none(constant: str) -> None:
    raise ValueError  # NaN and Infinity are no JSON


def _finite(text: str) -> float:
    if math.isinf(float(text)):
        raise ValueError
    return float(text)


def _depth(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(_depth, inner), default=0)


REQUIRED = object()


def member(body: dict, name: str, kind: type, default: object = REQUIRED):
    """A member of that type; null counts as absent (TRN-10). `True` is no int here, though it is one in Python."""
    value = body.get(name)
    if value is None and default is not REQUIRED:
        return default
    if type(value) is not kind:
        raise invalid(f"{name} is missing or of the wrong type")
    return value


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# Times. Inside this program a time of the protocol is text with nine digits after the second, always in UTC: text of
# one width sorts as the instants do (TRN-15).

TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z", re.ASCII)


def parse_time(text: object) -> str:
    match = TIME.fullmatch(text) if isinstance(text, str) else None
    try:
        datetime.fromisoformat(match.group(1))
    except (AttributeError, ValueError):
        raise invalid("a time is not in the form YYYY-MM-DDTHH:MM:SS.sssZ") from None
    return match.group(1) + "." + (match.group(2) or "").ljust(9, "0")


def time_text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f000")


def written(instant: str) -> str:
    return instant[:23] + "Z"  # TRN-13


# base64url and names

def b64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()  # TRN-16


def from_b64url(text: str) -> bytes:
    """Raises ValueError for anything but the one spelling of some bytes (TRN-16, TIX-02)."""
    if not re.fullmatch(r"[A-Za-z0-9_-]*", text):  # Python's decoder skips other characters
        raise ValueError
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if b64url(raw) != text:
        raise ValueError
    return raw


def is_service_name(name: object) -> bool:
    """NAM-01 to NAM-05."""
    return (
        isinstance(name, str) and 1 <= len(name) <= 128 and len(name.encode("utf-8", "surrogatepass")) <= 255
        and unicodedata.is_normalized("NFC", name) and name == name.strip() and name not in (".", "..")
        and "/" not in name and not any(unicodedata.category(each) == "Cc" for each in name)
    )


def service_name(body: dict) -> str:
    name = member(body, "serviceName", str)
    if not is_service_name(name):
        raise invalid("serviceName is not a service name")
    return name


def is_header_name(name: object) -> bool:
    return isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name) is not None  # PRX-20
