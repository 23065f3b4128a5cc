"""Records: what /v1/store takes and /v1/credential delivers (sections 5.4 and 5.5).

`settings` is what was sealed with the secret: every decision about what leaves is made by it (TRU-01).
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import time

import http_apis
import outgoing
import refresh
import request_rules
import short
import tickets
import totp
from state import log, next_version
from wire import Refusal, compact, invalid, is_header_name, member, parse_time, time_text, written

COMMON = set("""
tokenType allowedHosts allowedHeaders allowedQuery requests allowShortSecret delivery recipients expiryTime""".split())
# tokenType -> its own members, and the secret ones of them that have to be there (SAV-02, SAV-04)
TYPES = {
    "PlainText": ({"value"}, ["value"]),
    "JWT": ({"accessToken", "refreshToken", "shareRefreshToken", "provider"}, ["accessToken"]),
    "Certificate": ({"certificate", "privateKey"}, ["certificate", "privateKey"]),
    "SSHKey": ({"privateKey", "publicKey"}, ["privateKey"]),
    "RawCredential": ({"value", "minter"}, ["value"]),
    "TOTP": ({"secret", "otpauthUri", "algorithm", "digits", "period"}, ["secret"]),
}
DEFAULT_HEADERS = ["authorization", "x-api-key"]  # SAV-18
AUTH_METHODS = ("client_secret_basic", "client_secret_post", "private_key_jwt", "none")


def load(state, name: str):
    return state.one("SELECT * FROM record WHERE name = ?", name)


# Storing

def store(request, state, settings):
    ticket = tickets.accept(request.bearer(), "store", state, settings)  # used up, whatever follows (TIX-33)
    name = ticket["svc"]
    request.receive()  # no byte of a stranger's body is read (TIX-44)
    try:
        sealed, secret, expiry = parse(request.json())
        version = replace(state, name, sealed, secret, expiry, ticket)
    except Refusal as refusal:
        with state.transaction() as db:
            log(db, "record.stored", refusal.code, name, ticket)
        raise
    return 200, {}, {"serviceName": name, "version": version}  # SAV-01


def replace(state, name: str, sealed: dict, secret: dict, expiry: str | None, ticket: dict) -> int:
    now = time_text(time.time())
    with state.transaction() as db:
        old = load(state, name)
        if "ifv" in ticket and ticket["ifv"] != (old["version"] if old else 0):
            raise Refusal("VERSION_CONFLICT", "another version is stored")  # TIX-26
        version = next_version(db, "record", name)
        db.execute(  # everything anew: nothing of the old record stays but its date (SAV-03, STO-16)
            "INSERT OR REPLACE INTO record (name, version, created, updated, expiry, settings, secret)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            [name, version, old["created"] if old else now, now, expiry, compact(sealed), compact(secret)],
        )
        db.execute("DELETE FROM attempt WHERE what = ?", ["refresh " + name])
        log(db, "record.stored", "success", name, ticket)
    return version


def parse(body: dict) -> tuple[dict, dict, str | None]:
    """Sealed settings, secret and expiry of a store's body."""
    kind = member(body, "tokenType", str)
    if kind not in TYPES:
        raise invalid("no such token type")  # SAV-06
    own, needed = TYPES[kind]
    if not set(body) <= COMMON | own:
        raise invalid("a member is not known here")  # SAV-02
    if body.get("minter") is not None or body.get("recipients") is not None or body.get("delivery") == "sealed":
        raise invalid("this webhook mints nothing and does not seal")  # SAV-06, SAV-10
    delivery = member(body, "delivery", str, "any")
    if delivery not in ("any", "proxy-only"):
        raise invalid("no such delivery")  # SAV-08
    hosts = member(body, "allowedHosts", list, [])
    if not all(map(outgoing.is_allowed_host, hosts)) or ("*" in hosts and delivery == "proxy-only"):  # SAV-15
        raise invalid("allowedHosts holds something else than host, host:port, either behind http://, or *")
    headers = member(body, "allowedHeaders", list, DEFAULT_HEADERS)
    if not all(map(is_header_name, headers)):
        raise invalid("allowedHeaders holds something that is no header name")
    sealed = {"tokenType": kind, "delivery": delivery, "allowedHosts": hosts, "allowedHeaders": headers}
    if body.get("allowedQuery") is not None:
        sealed["allowedQuery"] = member(body, "allowedQuery", list)
        http_apis.check_names(sealed["allowedQuery"])  # HTP-05
    if body.get("requests") is not None:
        sealed["requests"] = request_rules.parse(body["requests"])
    if kind == "TOTP":
        sealed["totp"], secret = totp.parse(body)
    else:
        secret = {name: member(body, name, str) for name in needed}  # "" is one (SAV-05)
    if kind == "JWT":
        parse_jwt(body, sealed, secret)
    if kind == "SSHKey" and body.get("publicKey") is not None:
        sealed["publicKey"] = member(body, "publicKey", str)
        ssh_blob(sealed["publicKey"])
    sealed["empty"] = any(secret[name] == "" for name in needed)
    sealed["allowShortSecret"] = member(body, "allowShortSecret", bool, False)  # SAV-41
    if hosts and not sealed["empty"] and not sealed["allowShortSecret"]:
        if kind == "TOTP" or short.is_short(secret[needed[0]]):  # SAV-40
            raise invalid("a short secret is injected only with allowShortSecret: true")
    expiry = None if body.get("expiryTime") is None else parse_time(body["expiryTime"])
    return sealed, secret, expiry


def parse_jwt(body: dict, sealed: dict, secret: dict) -> None:
    provider = member(body, "provider", dict, None)
    secret["refreshToken"] = member(body, "refreshToken", str, "")
    sealed["shareRefreshToken"] = member(body, "shareRefreshToken", bool, provider is None)
    sealed["hasRefreshToken"] = secret["refreshToken"] != ""
    if provider is None:
        return
    if not set(provider) <= {"tokenUrl", "clientId", "clientSecret", "authMethod", "scope", "mediated"}:
        raise invalid("a member of provider is not known")
    secret["clientSecret"] = member(provider, "clientSecret", str, "")
    mediated = member(provider, "mediated", bool, False)
    default = "client_secret_basic" if secret["clientSecret"] or mediated else "none"  # CRE-17
    method = member(provider, "authMethod", str, default)
    if method not in AUTH_METHODS or (method == "private_key_jwt" and not mediated):  # CRE-16
        raise invalid("no such authMethod")
    if method.startswith("client_secret") and not secret["clientSecret"] and not mediated:
        raise invalid("authMethod asks for a clientSecret")
    url = member(provider, "tokenUrl", str)
    try:
        outgoing.split(url)
    except ValueError:
        raise invalid("tokenUrl is not a URL to call") from None
    sealed["provider"] = {
        "tokenUrl": url, "clientId": member(provider, "clientId", str), "authMethod": method, "mediated": mediated,
    }
    sealed["scope"] = member(provider, "scope", str, None)


# Showing and delivering

def shown(record) -> dict:
    """A token as /v1/storage shows it: settings, never a secret (STO-03)."""
    sealed = json.loads(record["settings"])
    return {
        "serviceName": record["name"], "tokenType": sealed["tokenType"], "version": record["version"],
        "createdAt": written(record["created"]), "updatedAt": written(record["updated"]),
        **({"expiryTime": written(record["expiry"])} if record["expiry"] else {}),  # TRN-09
        "hasRefreshToken": sealed.get("hasRefreshToken", False), "empty": sealed["empty"],
        **{name: sealed[name] for name in ("delivery", "allowedHosts", "allowedHeaders")},
        **{name: sealed[name] for name in ("requests", "allowedQuery") if name in sealed},  # RUL-01, HTP-05
        **({"reauthNeeded": True} if record["reauth"] else {}),
        **({"provider": sealed["provider"]} if "provider" in sealed else {}),
    }


def credential(request, state, settings):
    asked = request.parameters("ticket")
    # A ticket in the query counts alone, whatever Authorization says beside it (CRE-05); two are none (TIX-06).
    shown_ticket = request.bearer() if not asked else asked[0] if len(asked) == 1 else None
    ticket = tickets.accept(shown_ticket, "credential", state, settings)
    name = ticket["svc"]
    try:
        record = load(state, name)
        if record is None:
            raise Refusal("NOT_FOUND", "there is no such record")  # CRE-08
        if json.loads(record["settings"])["delivery"] != "any":
            raise Refusal("DELIVERY_NOT_ALLOWED", "the record does not leave this webhook")  # CRE-21
        record = usable(state, settings, record)
        token = delivered(record, json.loads(record["settings"]), ticket)
    except Refusal as refusal:
        with state.transaction() as db:
            log(db, "credential.delivered", refusal.code, name, ticket)
        raise
    with state.transaction() as db:
        log(db, "credential.delivered", "success", name, ticket)
    return 200, {}, {"token": token}


def usable(state, settings, record):
    """The record, refreshed where it is an expired token that can be refreshed (CRE-09, CRE-11 to CRE-15, PRX-33)."""
    sealed = json.loads(record["settings"])
    if sealed["empty"]:
        raise Refusal("EMPTY_TOKEN", "the record has no secret")
    expired = record["expiry"] is not None and record["expiry"] <= time_text(time.time() + 30)
    if not expired or "provider" not in sealed or not sealed["hasRefreshToken"]:
        return record
    if sealed["provider"]["mediated"]:
        raise Refusal("REFRESH_NEEDED", "only the service can have this token refreshed", Retry_After="5")
    return refresh.refresh(state, settings, record)


def access_token(record) -> str:
    """What goes out as `accessToken`, and into `${TOKEN}` of a template (CRE-07)."""
    sealed, secret = json.loads(record["settings"]), json.loads(record["secret"])
    if sealed["tokenType"] == "TOTP":
        return totp.code(sealed["totp"], secret)[0]
    return secret[TYPES[sealed["tokenType"]][1][0]]


def delivered(record, sealed: dict, ticket: dict) -> dict:
    secret = json.loads(record["secret"])
    token = {
        "accessToken": access_token(record), "serviceName": record["name"], "tokenType": sealed["tokenType"],
        "createdAt": written(record["created"]),
    }
    if record["expiry"]:
        token["expiryTime"] = written(record["expiry"])
    if secret.get("refreshToken") and sealed["shareRefreshToken"] and ticket["rfp"] == "none":
        token["refreshToken"] = secret["refreshToken"]  # CRE-10
    if sealed["tokenType"] == "Certificate":
        token["privateKey"] = secret["privateKey"]
    if sealed["tokenType"] == "TOTP":
        token["accessToken"], token["expiresIn"] = totp.code(sealed["totp"], secret)
    if sealed["tokenType"] == "SSHKey":
        token.update(ssh_public(sealed.get("publicKey"), secret["privateKey"]))
    return token


# SSH keys: the public half stands readable in OpenSSH's own format; from PEM it takes a cryptographic library.

def ssh_blob(public_key: str) -> bytes:
    try:
        blob = base64.b64decode(public_key.split()[1], validate=True)
        size = struct.unpack(">I", blob[:4])[0]
        if blob[4 : 4 + size].decode() != public_key.split()[0]:
            raise ValueError
    except (ValueError, IndexError, struct.error):
        raise invalid("publicKey is not in the form of OpenSSH") from None
    return blob


def ssh_public(public_key: str | None, private_key: str) -> dict:
    try:
        blob = ssh_blob(public_key) if public_key else blob_of_private(private_key)
    except (ValueError, IndexError, struct.error, Refusal):
        return {}
    kind = blob[4 : 4 + struct.unpack(">I", blob[:4])[0]].decode()
    digest = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
    return {"publicKey": public_key or f"{kind} {base64.b64encode(blob).decode()}", "fingerprint": f"SHA256:{digest}"}


def blob_of_private(private_key: str) -> bytes:
    """openssh-key-v1: magic, cipher, KDF, KDF's options, the number of keys, then the public key."""
    lines = private_key.strip().splitlines()
    if lines[0] != "-----BEGIN OPENSSH PRIVATE KEY-----":
        raise ValueError
    rest = base64.b64decode("".join(lines[1:-1]), validate=True)
    magic = b"openssh-key-v1\0"
    if not rest.startswith(magic):
        raise ValueError
    rest, strings = rest[len(magic) :], []
    for each in range(4):
        rest = rest[4:] if each == 3 else rest  # the number of keys stands before the fourth
        size = struct.unpack(">I", rest[:4])[0]
        strings.append(rest[4 : 4 + size])
        rest = rest[4 + size :]
    if len(strings[3]) < 8:
        raise ValueError
    return strings[3]
