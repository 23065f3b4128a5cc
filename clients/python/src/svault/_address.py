"""Where a key or a ticket may be sent."""

from __future__ import annotations

import re
from typing import NamedTuple, Optional
from urllib.parse import urlsplit

from ._errors import UsageError

_LOOPBACK = re.compile(r"localhost|::1|127(\.\d{1,3}){3}")
#: A ticket has at most 4096 characters and a webhook's address 2048 (PROTOCOL.md, section 4).
_MAX_CHARACTERS = 8_192


class Address(NamedTuple):
    scheme: str
    hostname: str
    port: Optional[int]
    #: What messages name: without path and query.
    host: str
    path: str
    query: str

    @property
    def origin(self) -> str:
        default = 443 if self.scheme == "https" else 80
        host = f"[{self.hostname}]" if ":" in self.hostname else self.hostname
        return f"{self.scheme}://{host}:{self.port or default}"


def safe_address(text: str) -> Address:
    """An https address, or http on this machine.

    :raises ValueError: for any other, one with a user name or a fragment too; the message does not repeat it
    """
    # Visible ASCII alone: what a header or a request line could be split by is in none.
    if len(text) > _MAX_CHARACTERS or not re.fullmatch(r"[!-~]+", text) or "\\" in text:
        raise ValueError("is not an address")
    url = urlsplit(text)
    hostname = url.hostname or ""
    if not hostname or "@" in url.netloc or "#" in text:
        raise ValueError("is not an address of a host alone")
    if url.scheme != "https" and not (url.scheme == "http" and _LOOPBACK.fullmatch(hostname)):
        raise ValueError("is not https, and not http on this machine")
    return Address(url.scheme, hostname, url.port, url.netloc, url.path, url.query)


def base_address(text: str, what: str) -> Address:
    """The address of a control plane or a webhook.

    :raises UsageError: names ``what`` was wrong
    """
    try:
        address = safe_address(text)
        if address.query:
            raise ValueError("has a query")
    except ValueError as error:
        raise UsageError(f"{what} {error}") from None
    return address._replace(path=address.path.rstrip("/"))
