"""Makes approvals.json with Python's hashlib alone, so that it owes nothing to our code.

Frozen: running this again changes no byte. Usage: python3 shared/vectors/make/approvals.py
"""

import base64
import hashlib
import json
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent.parent
JSON_TYPE = ["content-type", "application/json"]


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def digest(data: bytes) -> str:
    return f"sha-256=:{base64.b64encode(sha256(data)).decode()}:"


def b64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def request(name: str, kind: str, method: str, fields, body: str = "", *, covered=(), digested: str | None = None, handshake=False):
    """`covered`: the lines that are digested; `digested`: the body that is, where that is not the body."""
    body_digest = digest((body if digested is None else digested).encode())
    text = "".join(f"{line}\n" for line in covered) + "\n" + body_digest
    vector = {"name": name, "kind": kind, "method": method, "fields": fields, "body": body}
    if digested is not None:
        vector["digestedBody"] = digested
    vector |= {"bodyDigest": body_digest, "digestedText": text, "digest": digest(text.encode())}
    if handshake:
        vector["handshake"] = True
    return vector


def refused(name: str, reason: str, fields, body: str):
    return {"name": name, "kind": "mcp", "method": "POST", "fields": fields, "body": body, "reason": reason}


CALL = '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"drop","arguments":{"id":7,"_meta":1}%s}}'
TYPED = "content-type: application/json"
REQUESTS = [
    request("a GET without anything", "http", "GET", []),
    request("a body", "http", "POST", [JSON_TYPE], '{"id":1}', covered=[TYPED]),
    request(
        "fields in any case and order, one of them twice",
        "http",
        "POST",
        [["X-Amz-Target", "DynamoDB_20120810.GetItem"], ["Content-Type", "text/plain"], ["x-b", "1"], ["X-B", "2"]],
        "x",
        covered=["content-type: text/plain", "x-amz-target: DynamoDB_20120810.GetItem", "x-b: 1, 2"],
    ),
    request(
        "fields that change from one attempt to the next",
        "http",
        "GET",
        [
            *[[name, "x"] for name in ("Accept", "accept-encoding", "accept-language", "b3", "baggage", "date", "idempotency-key")],
            *[[name, "x"] for name in ("last-event-id", "sentry-trace", "traceparent", "tracestate", "user-agent", "x-amz-date")],
            *[[name, "x"] for name in ("x-amz-security-token", "x-amz-user-agent", "x-amzn-trace-id", "x-client-request-id")],
            *[[name, "x"] for name in ("x-correlation-id", "x-goog-api-client", "x-ms-client-request-id", "x-ms-date", "x-request-id")],
            *[[name, "x"] for name in ("amz-sdk-request", "mcp-session-id", "x-b3-traceid", "x-datadog-trace-id", "x-stainless-retry-count")],
            ["x-amz-content-sha256", "e3b0"],
        ],
        covered=["x-amz-content-sha256: e3b0"],
    ),
    request("JSON that is no message, since the API is none of MCP", "http", "POST", [JSON_TYPE], CALL % (1, ""), covered=[TYPED]),
    request("a call of a tool", "mcp", "POST", [JSON_TYPE], CALL % (12, ""), covered=[TYPED], digested=CALL % (0, "")),
    request(
        "the same call again, with another id and with a token for its progress",
        "mcp",
        "POST",
        [JSON_TYPE],
        CALL % ('"b-13"', ',"_meta":{"progressToken":[1,"}"]}'),
        covered=[TYPED],
        digested=CALL % (0, ',"_meta":0'),
    ),
    request(
        "white space, escapes in names and members in another order",
        "mcp",
        "POST",
        [JSON_TYPE],
        '{ "params" : {"_met\\u0061" : {"a":{"b":"\\"}"}} , "uri":"x:y"} , "method":"resources/read","\\u0069d" : -1.5e3 ,"jsonrpc":"2.0" }\n',
        covered=[TYPED],
        digested='{ "params" : {"_met\\u0061" : 0 , "uri":"x:y"} , "method":"resources/read","\\u0069d" : 0 ,"jsonrpc":"2.0" }\n',
    ),
    request("a handshake", "mcp", "POST", [JSON_TYPE], '{"jsonrpc":"2.0","id":1,"method":"initialize"}', covered=[TYPED], digested='{"jsonrpc":"2.0","id":0,"method":"initialize"}', handshake=True),
    request("a notification", "mcp", "POST", [JSON_TYPE], '{"jsonrpc":"2.0","method":"notifications/cancelled"}', covered=[TYPED], handshake=True),
    request("a response", "mcp", "POST", [JSON_TYPE], '{"jsonrpc":"2.0","id":null,"result":1}', covered=[TYPED], digested='{"jsonrpc":"2.0","id":0,"result":1}', handshake=True),
    request("the stream of a server", "mcp", "GET", [], handshake=True),
    request("the end of a session", "mcp", "DELETE", [], handshake=True),
    request("a DELETE with a body", "mcp", "DELETE", [], "x"),
    request(
        "the headers that repeat a part of the message",
        "mcp",
        "POST",
        [["Mcp-Protocol-Version", "2026-07-28"], ["Mcp-Name", "drop"], ["Mcp-Method", "tools/call"], ["Mcp-Param-Id", "7"], JSON_TYPE],
        CALL % (1, ""),
        covered=[TYPED, "mcp-method: tools/call", "mcp-name: drop", "mcp-param-id: 7"],
        digested=CALL % (0, ""),
    ),
    refused("a name twice", "json", [JSON_TYPE], '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}'),
    refused("a batch", "json", [JSON_TYPE], '[{"jsonrpc":"2.0","id":1,"method":"ping"}]'),
    refused("a name in another case", "member_case", [JSON_TYPE], '{"jsonrpc":"2.0","ID":1,"method":"ping"}'),
    refused("another media type", "content_type", [["content-type", "text/plain"]], '{"jsonrpc":"2.0","method":"ping"}'),
    refused("a header that says something else", "mcp_header", [JSON_TYPE, ["mcp-method", "ping"]], CALL % (1, "")),
]


def compact(value) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def decision(name: str, facts: dict, decided: str, scope: str):
    text = compact({"v": 1, **facts})
    return {"name": name, "facts": facts, "text": text, "decision": decided, "scope": scope, "challenge": b64url(sha256(f"{text}\n{decided}\n{scope}".encode()))}


HEAD = {"id": "apr_AAECAwQFBgcICQoLDA0ODw", "webhook": "whk_1", "serviceName": "github", "sub": "agt_1"}
TIMES = {"askedAt": "2026-01-01T00:00:00.000Z", "expiresAt": "2026-01-01T00:15:00.000Z"}
CREDENTIAL = {**HEAD, "operation": {"type": "credential"}, **TIMES}
PROXY = {
    **HEAD,
    "serviceName": 'büro "A"',
    "operation": {
        "type": "proxy",
        "proxyId": "prx_1",
        "method": "POST",
        "url": "https://api.example/mcp?key=%24%7BTOKEN%7D",
        "mcp": "tools/call",
        "tool": "drop",
        "digest": REQUESTS[5]["digest"],
    },
    **TIMES,
}
DECISIONS = [
    decision("the secret, once", CREDENTIAL, "approve", "once"),
    decision("the secret, for an hour", CREDENTIAL, "approve", "standing:3600"),
    decision("a denial", CREDENTIAL, "deny", "once"),
    decision("a revocation", CREDENTIAL, "revoke", "once"),
    decision("a call of a tool", PROXY, "approve", "once"),
    decision("a request without a message", {**PROXY, "operation": {k: v for k, v in PROXY["operation"].items() if k not in ("mcp", "tool")}}, "approve", "once"),
]


def lines(vectors) -> str:
    return ",\n".join(f"    {json.dumps(vector, ensure_ascii=False)}" for vector in vectors)


(FOLDER / "approvals.json").write_text(
    '{\n  "about": "PROTOCOL.md section 5.10: what a request is known by, and what a passkey signs",\n'
    f'  "requests": [\n{lines(REQUESTS)}\n  ],\n  "decisions": [\n{lines(DECISIONS)}\n  ]\n}}\n'
)
