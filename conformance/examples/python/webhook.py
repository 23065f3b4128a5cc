#!/usr/bin/env python3
"""A complete svault webhook with nothing but Python's standard library (3.9 or newer), as an example for authors.

    python3 webhook.py serve        answers on --listen, behind whatever ends TLS for --url
    python3 webhook.py bind-link    prints the link that connects it to its service, without the page
    python3 webhook.py unbind       erases all keys, so that it can be bound again
    python3 webhook.py restored     to be run once after the data folder was put back from a backup

Every setting is a flag or an environment variable; the set-up token is never a flag, since flags show in `ps`.

Written from PROTOCOL.md; the ids in comments are its requirements. It claims storage, credential, store, totp, proxy,
refresh-notify, request-rules and http-proxy. It does not claim sealed-delivery and the minters, for which the standard library has
no cryptography (HMAC and SHA is all there is), nor sv-refresh. For the same reason secrets are not encrypted at rest:
see state.py.
"""

from __future__ import annotations

import argparse
import ipaddress
import os
import re
import secrets
import signal
import sys
from urllib.parse import urlsplit

import binding
import server
from state import State, after_restore
from wire import Refusal, note

CAPABILITIES = ["storage", "credential", "store", "totp", "proxy", "refresh-notify", "request-rules", "http-proxy"]  # HEA-05


class Settings:
    version = "example-python/1"
    capabilities = CAPABILITIES

    def __init__(self, options: argparse.Namespace):
        self.public_url = address(options.url, "--url")
        parts = urlsplit(self.public_url)
        self.prefix = parts.path
        if not re.fullmatch(r"(/[A-Za-z0-9._~-]+)*", self.prefix):
            sys.exit("error: the path of --url has other characters than A-Z a-z 0-9 . _ ~ - and /")  # SIG-14
        self.authority = authority(parts)  # SIG-11
        self.service_url = address(options.service_url, "--service-url")  # TIX-08, EXC-09: from here alone
        service = urlsplit(self.service_url)
        self.origin = f"{service.scheme}://{authority(service)}"  # as browsers write it (SAV-21)
        host, _, port = options.listen.rpartition(":")
        self.listen = (host, int(port))
        self.allowed = [ipaddress.ip_network(each) for each in options.allow.split()]
        self.setup_token = setup_token(options.data)


def address(url: str | None, flag: str) -> str:
    parts = urlsplit(url or "")
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"[@?#]|/$", url):
        sys.exit(f"error: {flag} is an address without userinfo, query, fragment and trailing slash")  # SIG-13
    return url


def authority(parts) -> str:
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    default = {"https": 443, "http": 80}[parts.scheme]
    return host if parts.port in (None, default) else f"{host}:{parts.port}"


def setup_token(folder: str) -> str:
    """WEBHOOK_SETUP_TOKEN, or what stands in the data folder: made there at the first start (BND-01)."""
    token = os.environ.get("WEBHOOK_SETUP_TOKEN")
    path = os.path.join(folder, "setup-token")
    if token is None and not os.path.exists(path):
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(24))
    if token is None:
        with open(path) as file:
            token = file.read().strip()
    if len(token) < 22:
        sys.exit("error: the set-up token has less than 22 characters, which is less than 128 bits")
    return token


def main() -> None:
    parser = argparse.ArgumentParser(description="A svault webhook in Python's standard library.")
    parser.add_argument("command", choices=["serve", "bind-link", "unbind", "restored"])
    for flag, default, text in [
        ("listen", "127.0.0.1:8080", "host and port to listen on"),
        ("url", None, "address of this webhook as the service reaches it"),
        ("service-url", None, "base URL of the service that it may be bound to"),
        ("data", "./webhook-data", "folder for its data, which is made with mode 0700"),
        ("allow", "", "networks that calls out may go to although section 6 refuses them, such as 127.0.0.0/8"),
    ]:
        variable = "WEBHOOK_" + flag.upper().replace("-", "_")
        parser.add_argument(f"--{flag}", default=os.environ.get(variable, default), help=f"{text}; or {variable}")
    options = parser.parse_args()
    os.umask(0o077)
    state = State(options.data)
    settings = Settings(options)
    try:
        if options.command == "serve":
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
            allowed = ", ".join(map(str, settings.allowed)) or "none"
            note(f"listening on {options.listen}; calls out also to: {allowed}")  # ADR-09
            server.serve(state, settings)
        elif options.command == "bind-link":
            key = binding.prepare(state)
            print(f"fingerprint: {binding.fingerprint(key['secret'])}", file=sys.stderr)
            print(binding.connect(state, settings, key["key_id"]))
        elif options.command == "unbind":
            binding.unbind(state)
        else:
            after_restore(state)
    except Refusal as refusal:
        sys.exit(f"error: {refusal}")


if __name__ == "__main__":
    main()
