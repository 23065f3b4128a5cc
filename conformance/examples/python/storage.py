"""/v1/storage (section 5.3): metadata, proxy configurations and the log."""

from __future__ import annotations

import json
import re

import http_apis
import outgoing
import records
from state import append, head, log, next_version
from wire import Refusal, b64url, compact, from_b64url, invalid, is_header_name, member, parse_time, service_name

SECRET_NAMES = {each.lower() for each in """
accessToken refreshToken value secret otpauthUri clientSecret clientAssertion privateKey
certificate minter secretAccessKey password passphrase""".split()}  # STO-04
# PRX-14
FORBIDDEN = re.compile(
    "host|content-length|transfer-encoding|connection|keep-alive|te|trailer|upgrade|expect|via|forwarded|"
    "x-forwarded-.*|proxy-.*|sv-.*", re.IGNORECASE,
)


def storage(request, state, settings):
    body = request.json()
    batch = member(body, "batch", list, None)
    if batch is None:
        return 200, {}, run(body, state)
    if not 1 <= len(batch) <= 100:  # STO-06
        raise invalid("a batch has 1 to 100 operations")
    return 200, {}, {"results": [result(operation, state) for operation in batch]}  # STO-07, STO-08


def result(operation: object, state) -> dict:
    try:
        if not isinstance(operation, dict) or "batch" in operation:
            raise invalid("not an operation")  # STO-09
        return run(operation, state)
    except Refusal as refusal:
        return refusal.body


def run(operation: dict, state) -> dict:
    # Names of headers and parameters are no members that could hold a secret (STO-05).
    named = {name: operation.get(name) for name in ("headerTemplates", "queryTemplates")}
    values = {name: list(each.values()) if isinstance(each, dict) else each for name, each in named.items()}
    if holds_secret({**operation, **values}):
        raise Refusal("SECRET_FIELD", "secrets do not travel here")
    act = OPERATIONS.get(member(operation, "op", str))
    if act is None:
        raise invalid("no such op")  # STO-10
    with state.transaction() as db:
        return act(operation, db, state)


def holds_secret(value: object) -> bool:
    if isinstance(value, dict):
        return any(name.lower() in SECRET_NAMES or holds_secret(inner) for name, inner in value.items())
    return isinstance(value, list) and any(map(holds_secret, value))


# Pages: a cursor is the last key of the page before, and means nothing to a service.

def page(operation: dict, most: int) -> tuple[int, str | None]:
    limit, cursor = member(operation, "limit", int, 100), member(operation, "cursor", str, None)  # STO-12
    if not 1 <= limit <= most:
        raise invalid(f"limit is 1 to {most}")  # STO-11
    try:
        return limit, None if cursor is None else from_b64url(cursor).decode()
    except ValueError:
        raise invalid("this is no cursor") from None


def paged(rows: list, limit: int, show, key: str) -> dict:
    """One row more than the limit was asked for, to know whether another page follows."""
    answer = {"items": [show(row) for row in rows[:limit]]}
    if len(rows) > limit:
        answer["nextCursor"] = b64url(str(rows[limit - 1][key]).encode())
    return answer


def if_version(operation: dict, stored: int) -> None:
    wanted = member(operation, "ifVersion", int, None)
    if wanted is not None and wanted != stored:
        raise Refusal("VERSION_CONFLICT", "another version is stored")  # STO-17, STO-18


# Tokens

def list_tokens(operation: dict, db, state) -> dict:
    limit, after = page(operation, 500)
    before = operation.get("expiresBefore")
    rows = db.execute(
        "SELECT * FROM record WHERE name > ? AND (? IS NULL OR expiry < ?) ORDER BY name LIMIT ?",
        [after or "", *2 * [None if before is None else parse_time(before)], limit + 1],
    ).fetchall()
    return paged(rows, limit, records.shown, "name")


def get_token(operation: dict, db, state) -> dict:
    record = records.load(state, service_name(operation))
    if record is None:
        raise Refusal("NOT_FOUND", "there is no such record")
    return records.shown(record)


def delete_token(operation: dict, db, state) -> dict:
    name = service_name(operation)
    record = records.load(state, name)
    member(operation, "ifVersion", int, None)
    if record is None:
        return {"deleted": False}  # so that a repetition is safe (STO-20)
    if_version(operation, record["version"])
    db.execute("DELETE FROM record WHERE name = ?", [name])
    log(db, "record.deleted", "success", name)
    return {"deleted": True}


# Proxy configurations

ID = re.compile(r"[A-Za-z0-9_.:-]{1,128}")  # STO-44


def proxy_id(operation: dict) -> str:
    found = member(operation, "proxyId", str)
    if not ID.fullmatch(found):
        raise invalid("this is no proxyId")
    return found


def shown_proxy(row) -> dict:
    return {
        "proxyId": row["id"], "serviceName": row["service"], "upstreamUrl": row["url"],
        "headerTemplates": json.loads(row["templates"]), "version": row["version"], **json.loads(row["members"]),
    }


def load_proxy(state, name: str):
    return state.one("SELECT * FROM proxy WHERE id = ?", name)


def put_proxy(operation: dict, db, state) -> dict:
    name, service = proxy_id(operation), service_name(operation)
    url, templates = member(operation, "upstreamUrl", str), member(operation, "headerTemplates", dict)
    try:
        outgoing.split(url)
    except ValueError:
        raise invalid("upstreamUrl is not a URL to call") from None  # STO-23
    if len(templates) > 20 or len({each.lower() for each in templates}) != len(templates):  # STO-21
        raise invalid("more than 20 headers, or one of them twice")
    for header, value in templates.items():
        if not is_header_name(header) or FORBIDDEN.fullmatch(header):
            raise invalid("a header that no template may set")  # STO-24
        if not isinstance(value, str) or len(value.encode()) > 4096:
            raise invalid("a value is text of at most 4 KiB")  # STO-22
    members = http_apis.parse_members(operation, url)
    member(operation, "ifVersion", int, None)
    stored = load_proxy(state, name)
    config = {"proxyId": name, "serviceName": service, "upstreamUrl": url, "headerTemplates": templates, **members}
    if stored and shown_proxy(stored) == {**config, "version": stored["version"]}:
        return shown_proxy(stored)  # STO-19
    if_version(operation, stored["version"] if stored else 0)
    version = next_version(db, "proxy", name)
    row = [name, version, service, url, compact(templates), compact(members)]
    db.execute("INSERT OR REPLACE INTO proxy VALUES (?, ?, ?, ?, ?, ?)", row)
    return shown_proxy(load_proxy(state, name))


def get_proxy(operation: dict, db, state) -> dict:
    row = load_proxy(state, proxy_id(operation))
    if row is None:
        raise Refusal("NOT_FOUND", "there is no such proxy")
    return shown_proxy(row)


def list_proxies(operation: dict, db, state) -> dict:
    limit, after = page(operation, 500)
    rows = db.execute("SELECT * FROM proxy WHERE id > ? ORDER BY id LIMIT ?", [after or "", limit + 1]).fetchall()
    return paged(rows, limit, shown_proxy, "id")


def delete_proxy(operation: dict, db, state) -> dict:
    name = proxy_id(operation)
    member(operation, "ifVersion", int, None)
    stored = load_proxy(state, name)
    if stored is None:
        return {"deleted": False}
    if_version(operation, stored["version"])
    db.execute("DELETE FROM proxy WHERE id = ?", [name])
    return {"deleted": True}


# The log

EVENT = {"id": str, "eventType": str, "timestamp": str, "outcome": str}
EVENT_OPTIONAL = {"agentId": str, "proxyId": str, "userId": str, "serviceName": str, "count": int, "detail": dict}


def append_events(operation: dict, db, state) -> dict:
    events = member(operation, "events", list)
    if len(events) > 500:
        raise invalid("at most 500 events")  # STO-25
    for event in events:
        if not isinstance(event, dict) or len(compact(event).encode()) > 8192:  # STO-25
            raise invalid("an event is an object of at most 8 KiB")
        kept = {name: member(event, name, kind) for name, kind in EVENT.items()}
        parse_time(kept["timestamp"])
        optional = {name: member(event, name, kind, None) for name, kind in EVENT_OPTIONAL.items()}
        ids = [kept["id"], *(optional[name] for name in ("agentId", "proxyId", "userId"))]
        if not all(each is None or ID.fullmatch(each) for each in ids):
            raise invalid("an id of an event is none")
        # Other members are left behind, `source` and `seq` among them: those are ours to say (STO-30).
        append(db, "service", {**kept, **{name: value for name, value in optional.items() if value is not None}})
    return {"accepted": len(events)}  # STO-26


def list_events(operation: dict, db, state) -> dict:
    limit, cursor = page(operation, 100)
    if cursor is not None and not re.fullmatch(r"\d{1,18}", cursor, re.ASCII):
        raise invalid("this is no cursor")
    agent, service = member(operation, "agentId", str, None), member(operation, "serviceName", str, None)
    rows = db.execute(  # the newest first
        "SELECT * FROM log WHERE row < ? AND (? IS NULL OR agent = ?) AND (? IS NULL OR service = ?)"
        " ORDER BY row DESC LIMIT ?",
        [int(cursor) if cursor else 2**62, agent, agent, service, service, limit + 1],
    ).fetchall()
    return {**paged(rows, limit, shown_event, "row"), "head": head(db)}


def shown_event(row) -> dict:
    return {**json.loads(row["entry"]), **{name: row[name] for name in ("epoch", "seq", "source")}}  # STO-28, STO-29


OPERATIONS = {
    "tokens.list": list_tokens, "tokens.get": get_token, "tokens.delete": delete_token,
    "proxies.put": put_proxy, "proxies.get": get_proxy, "proxies.list": list_proxies, "proxies.delete": delete_proxy,
    "audit.append": append_events, "audit.list": list_events,
}
