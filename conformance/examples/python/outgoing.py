"""Calls out, with the addresses of section 6 checked. One connection per call: nothing is shared (PRX-37)."""

from __future__ import annotations

import http.client
import ipaddress
import re
import socket
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from urllib.parse import urlsplit

# ADR-02
REFUSED = [ipaddress.ip_network(each) for each in """
0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.168.0.0/16
198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
::/96 64:ff9b::/96 64:ff9b:1::/48 2001::/32 2001:db8::/32 2002::/16 3fff::/20 fc00::/7 fe80::/10 fec0::/10 ff00::/8
""".split()]
TLS = ssl.create_default_context()
resolver = ThreadPoolExecutor(max_workers=16)  # getaddrinfo knows no time limit of its own


class NotAllowed(Exception):
    """An address or a URL that section 6 refuses."""


class Failed(Exception):
    """The call did not come about or broke off; `late` where time ran out."""

    def __init__(self, late: bool):
        super().__init__()
        self.late = late


def split(url: str):
    """Scheme, host, port and target of a URL; ValueError where it is none that may be stored (STO-23, ADR-07)."""
    if not url.isascii() or any(ord(each) <= 0x20 or each in '\\\x7f"<>^`{|}' for each in url):
        raise ValueError
    parts = urlsplit(url)
    if parts.scheme not in ("https", "http") or not parts.hostname or "@" in parts.netloc or "#" in url:
        raise ValueError
    port = parts.port if parts.port is not None else 443 if parts.scheme == "https" else 80
    return parts.scheme, parts.hostname, port, (parts.path or "/") + ("?" + parts.query if parts.query else "")


ALLOWED_HOST = re.compile(r"(http://)?(\[[0-9a-f:.]+\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)(?::([1-9]\d{0,4}))?", re.ASCII)


def is_allowed_host(entry: object) -> bool:
    """Whether that may stand in allowedHosts (SAV-11, SAV-12)."""
    if entry == "*":
        return True
    match = ALLOWED_HOST.fullmatch(entry) if isinstance(entry, str) else None
    if match is None or int(match.group(3) or 1) > 65535:
        return False
    try:
        return match.group(2)[0] != "[" or bool(ipaddress.IPv6Address(match.group(2)[1:-1]))
    except ValueError:
        return False


def origin(url: str) -> tuple[str, str, int]:
    scheme, host, port, _ = split(url)
    return scheme, normal(f"[{host}]" if ":" in host else host), port


def is_among(found: tuple[str, str, int], entries: list) -> bool:
    """Without a scheme an entry means https, without a port the default one (SAV-13, SAV-14, SAV-34, SAV-35)."""
    return any(found[0] == "https" if entry == "*" else entry_of(entry) == found for entry in entries)


def entry_of(entry: str) -> tuple[str, str, int]:
    plain, host, port = ALLOWED_HOST.fullmatch(entry).groups()
    return "http" if plain else "https", normal(host), int(port or (80 if plain else 443))


def normal(host: str) -> str:
    return f"[{ipaddress.IPv6Address(host[1:-1])}]" if host.startswith("[") else host


def host_header(scheme: str, host: str, port: int) -> str:
    name = f"[{host}]" if ":" in host else host
    return name if port == (443 if scheme == "https" else 80) else f"{name}:{port}"


def check(address: str, scheme: str, allowed: list) -> None:
    ip = ipaddress.ip_address(address.split("%")[0])
    ip = getattr(ip, "ipv4_mapped", None) or ip  # ADR-03
    if any(ip in network for network in allowed):
        return  # what the operator named, plain http included (ADR-08)
    if scheme != "https" or any(ip in network for network in REFUSED):
        raise NotAllowed


class FinalResponse(http.client.HTTPResponse):
    """Skips all interim answers, of which http.client skips only 100 (HTP-29)."""

    def _read_status(self):
        while True:
            version, status, reason = super()._read_status()
            if status >= 200:
                return version, status, reason
            while self.fp.readline(65537) not in (b"\r\n", b"\n", b""):
                pass


class Call:
    """One request to one checked address. Proxy variables are ignored and redirects handed back (ADR-05, ADR-06)."""

    def __init__(self, url: str, allowed: list, seconds: float, target: str | None = None):
        self.scheme, self.host, self.port, self.target = split(url)
        self.target = self.target if target is None else target
        self.allowed, self.ends = allowed, time.monotonic() + seconds
        self.sock = self.response = None
        self.timer = threading.Timer(seconds, self.cut)
        self.timer.daemon = True
        self.timer.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def late(self) -> bool:
        """Whether time is what ended the call; the timer and the socket's own limit both come at the end of it."""
        return time.monotonic() > self.ends - 0.1

    def cut(self) -> None:
        """Ends the call from any thread: whoever waits for the socket sees its end."""
        if self.sock is not None:
            try:
                socket.socket.shutdown(self.sock, socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self) -> None:
        self.timer.cancel()
        for each in (self.response, self.sock):
            if each is not None:
                each.close()

    def resolve(self) -> None:
        """Asks for the name once and checks every address of it, in whatever notation it came (ADR-01, ADR-04)."""
        try:
            asked = resolver.submit(socket.getaddrinfo, self.host, self.port, 0, socket.SOCK_STREAM)
            found = asked.result(timeout=self.left())
        except FutureTimeout:
            raise Failed(late=True) from None
        except (OSError, UnicodeError):
            raise Failed(late=False) from None
        for *_, address in found:
            check(address[0], self.scheme, self.allowed)
        self.found = found

    def left(self) -> float:
        return max(0.05, self.ends - time.monotonic())

    def send(self, method: str, headers: list, body: bytes) -> http.client.HTTPResponse:
        """Sends to an address that `resolve` checked, and returns the answer once its head is there."""
        try:
            self._open()
            connection = http.client.HTTPConnection(self.host, self.port)
            connection.sock, connection.auto_open = self.sock, 0
            connection.response_class = FinalResponse
            connection.putrequest(method, self.target, skip_host=True, skip_accept_encoding=True)
            connection.putheader("Host", host_header(self.scheme, self.host, self.port))  # PRX-22
            for name, value in headers:
                connection.putheader(name, value.encode("latin-1"))
            if body or method in ("POST", "PUT", "PATCH"):
                connection.putheader("Content-Length", str(len(body)))
            connection.putheader("Connection", "close")
            try:
                connection.endheaders(body or None)
            except (BrokenPipeError, ConnectionResetError):
                pass  # it may have answered before it had read everything
            self.response = connection.getresponse()
            return self.response
        except (OSError, http.client.HTTPException, ValueError):
            raise Failed(self.late) from None

    def _open(self) -> None:
        for family, kind, protocol, _, address in self.found:
            self.sock = socket.socket(family, kind, protocol)
            self.sock.settimeout(self.left())
            try:
                self.sock.connect(address)
                break
            except OSError:
                self.sock.close()
        else:
            raise OSError
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.scheme == "https":
            self.sock = TLS.wrap_socket(self.sock, server_hostname=self.host, do_handshake_on_connect=False)
            self.sock.do_handshake()
        if self.late:
            raise OSError
