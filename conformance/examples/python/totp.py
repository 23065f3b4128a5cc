"""One-time codes (RFC 6238) for records of the type TOTP (SAV-26, SAV-27)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import struct
import time
from urllib.parse import parse_qsl

from wire import invalid, member

ALGORITHMS = {"SHA1": hashlib.sha1, "SHA256": hashlib.sha256, "SHA512": hashlib.sha512}


def seed(secret: str) -> bytes:
    """Base32 as people copy it: any letter case, with spaces, dashes and padding (SAV-26)."""
    letters = "".join(secret.split()).replace("-", "").upper().rstrip("=")
    try:
        raw = base64.b32decode(letters + "=" * (-len(letters) % 8))
    except ValueError:
        raw = b""
    if not raw:
        raise invalid("the seed is not base32")
    return raw


def parse(body: dict) -> tuple[dict, dict]:
    """Settings and secret of a store's body; members and URI have to agree (SAV-27)."""
    given = {
        "secret": member(body, "secret", str, None), "algorithm": member(body, "algorithm", str, None),
        "digits": member(body, "digits", int, None), "period": member(body, "period", int, None),
    }
    uri = member(body, "otpauthUri", str, None)
    if uri is None and given["secret"] is None:
        raise invalid("secret or otpauthUri is missing")  # SAV-04
    from_uri = read_uri(uri) if uri else {}
    for name, value in from_uri.items():
        same = value == given[name] if name != "secret" or not given[name] else seed(value) == seed(given[name])
        if given[name] is not None and not same:
            raise invalid(f"{name} contradicts otpauthUri")
    all_of = {name: value if value is not None else from_uri.get(name) for name, value in given.items()}
    settings = {"algorithm": all_of["algorithm"] or "SHA1", "digits": 6, "period": 30}
    settings.update({name: all_of[name] for name in ("digits", "period") if all_of[name] is not None})
    in_range = 6 <= settings["digits"] <= 8 and 1 <= settings["period"] <= 86400  # SAV-43
    if settings["algorithm"] not in ALGORITHMS or not in_range:
        raise invalid("algorithm, digits or period is none that there is")
    if all_of["secret"]:
        seed(all_of["secret"])
    return settings, {"secret": all_of["secret"] or ""}  # "" makes the record empty (SAV-05)


def read_uri(uri: str) -> dict:
    if not uri.startswith("otpauth://totp/") or not uri.isascii():
        raise invalid("otpauthUri is none of otpauth://totp/")
    _, _, query = uri.partition("?")
    pairs = parse_qsl(query.partition("#")[0], keep_blank_values=True)
    found = dict(pairs)
    if len(found) != len(pairs) or not found.get("secret"):
        raise invalid("otpauthUri has no secret, or a parameter twice")
    seed(found["secret"])
    read = {"secret": found["secret"]}
    if "algorithm" in found:
        read["algorithm"] = found["algorithm"].upper()
    for name in ("digits", "period"):
        if name in found:
            if not (found[name].isascii() and found[name].isdigit() and len(found[name]) < 6):
                raise invalid(f"{name} of otpauthUri is no number")
            read[name] = int(found[name])
    return read


def code(settings: dict, secret: dict) -> tuple[str, int]:
    """The code of now, and for how many seconds it is one."""
    now = int(time.time())
    counter = struct.pack(">Q", now // settings["period"])
    mac = hmac.new(seed(secret["secret"]), counter, ALGORITHMS[settings["algorithm"]]).digest()
    at = mac[-1] & 0x0F
    number = struct.unpack(">I", mac[at : at + 4])[0] & 0x7FFFFFFF
    digits, period = settings["digits"], settings["period"]
    return str(number % 10**digits).zfill(digits), period - now % period
