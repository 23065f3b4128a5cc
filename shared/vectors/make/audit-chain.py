#!/usr/bin/env python3
"""Makes audit-chain.json with Python's hashlib and json alone, by the form in docs/operate/audit-log.md.

Frozen: running this again changes no byte. Usage: shared/vectors/make/audit-chain.py
"""

import hashlib
import json
import pathlib

VAULT = "vlt_AAAAAAAAAAAAAAAAAAAAAA"
START = "0" * 64


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def canonical(value):
    """RFC 8785 for strings, integers, booleans, arrays and objects: members by the UTF-16 code units of their names."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(compact(name) + ":" + canonical(value[name]) for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(item) for item in value) + "]"
    return compact(value)


def hashed_text(event):
    members = [event["vaultId"], event["seq"], event["id"], event["eventType"], event["timestamp"], event["outcome"]]
    members += [event.get(name) for name in ("agentId", "proxyId", "userId", "serviceName", "count")]
    members.append(canonical(event["detail"]) if "detail" in event else None)
    origin = event.get("origin", {})
    if origin:
        members += [origin.get(name) for name in ("requestId", "channel", "address", "authenticatedBy", "userAgent")]
    return compact(members)


EVENTS = [
    ("the first event of an account, without optional members", {
        "eventType": "VAULT_LOCKED", "outcome": "success",
    }),
    ("every member", {
        "eventType": "AGENT_CREDENTIAL_ACCESS", "outcome": "denied",
        "agentId": "agt_BBBBBBBBBBBBBBBBBBBBBB", "proxyId": "prx_CCCCCCCCCCCCCCCCCCCCCC", "userId": "usr_DDDDDDDDDDDDDDDDDDDDDD",
        "serviceName": "github", "count": 3, "detail": {"code": "NO_GRANT"},
        "origin": {"requestId": "req_E", "channel": "rest", "address": "2001:db8::1", "authenticatedBy": "svagent_abcd…", "userAgent": "curl/8"},
    }),
    ("a detail whose names are sorted by UTF-16 code units, with lists, integers and booleans", {
        "eventType": "AGENT_UPDATED", "outcome": "success",
        "detail": {"\ufb01": 1, "\U0001f511": 2, "b": ["z", "a"], "B": True, "a": -9007199254740991, "": False},
    }),
    ("text that JSON escapes, and text that it does not", {
        "eventType": "TOKEN_CREATED", "outcome": "error", "serviceName": "a/\"quoted\"\\name",
        "detail": {"text": "\b\t\n\f\r\u0001\u001f\u007f\u2028\u00e9\U0001f600</script>"},
    }),
    ("an origin without all members", {
        "eventType": "LOGIN", "outcome": "success", "userId": "usr_DDDDDDDDDDDDDDDDDDDDDD",
        "origin": {"address": "192.0.2.1"},
    }),
    ("an empty detail and an empty origin, which is hashed as none", {
        "eventType": "GRANT_EXPIRED", "outcome": "success", "detail": {}, "origin": {},
    }),
]

vectors = []
previous = START
for place, (name, members) in enumerate(EVENTS, 1):
    event = {"vaultId": VAULT, "seq": place, "id": f"evt_{place:022d}", "timestamp": f"2026-01-01T00:00:0{place}.000Z", **members}
    text = hashed_text(event)
    digest = hashlib.sha256(f"{previous}\n{text}".encode()).hexdigest()
    vectors.append({"name": name, "previousHash": previous, "event": event, "text": text, "hash": digest})
    previous = digest

about = "Events of one account's log with the text that is hashed behind the previous hash and a line feed, and the hash."
lines = ",\n".join("    " + json.dumps(vector) for vector in vectors)
target = pathlib.Path(__file__).parent.parent / "audit-chain.json"
target.write_text(f'{{\n  "about": {json.dumps(about)},\n  "vectors": [\n{lines}\n  ]\n}}\n')
