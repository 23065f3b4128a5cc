"""Secrets that cannot hold 80 bits, so that guesses find them out (section 5.5, "Short secrets")."""

from __future__ import annotations

import base64
import binascii
import re

BESIDE = {  # PRX-48
    "allow", "content-encoding", "content-language", "content-length", "content-range", "content-type", "date",
    "location", "mcp-protocol-version", "mcp-session-id", "retry-after",
}
LEAST_OF_FEW = {2: 80, 3: 51, 4: 40, 5: 35, 6: 31, 7: 29}
LEAST_OF = [("[0-9]+", 25), ("[0-9a-f]+|[0-9A-F]+", 20), ("[a-z]+|[A-Z]+", 18), (".*", 16)]


def is_short(secret: str) -> bool:
    secret = part_of_basic(secret)
    distinct = len(set(secret))
    if distinct < 8:
        return distinct < 2 or len(secret) < LEAST_OF_FEW[distinct]
    return len(secret) < next(least for shape, least in LEAST_OF if re.fullmatch(shape, secret, re.ASCII | re.DOTALL))


def part_of_basic(secret: str) -> str:
    """What counts of HTTP Basic credentials (RFC 7617)."""
    bare = secret.rstrip("=")
    try:
        decoded = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return secret
    match = re.fullmatch(r"([ -9;-~]*):([ -~]*)", decoded)
    if match is None:
        return secret
    user, password = match.groups()
    return password if len(password) > 1 else user
