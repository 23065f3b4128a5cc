"""/v1/proxy (section 5.6): a call with the credential put in, to where the record allows it and nowhere else."""

from __future__ import annotations

import base64
import http.client
import json
import re
import select
import socket
import threading
from urllib.parse import unquote_to_bytes

import http_apis
import outgoing
import records
import request_rules
import short
import storage
import tickets
import tool_lists
from state import log
from wire import Refusal

FORWARDED = re.compile(  # PRX-03
    "accept|accept-language|content-type|user-agent|mcp-protocol-version|mcp-session-id|last-event-id|mcp-method|"
    "mcp-name|mcp-param-.*|traceparent|tracestate"
)
KEPT_BACK = re.compile(  # PRX-25; content-length is written anew
    "connection|keep-alive|proxy-connection|te|trailers?|transfer-encoding|upgrade|content-length|"
    "set-cookie|www-authenticate|proxy-.*|clear-site-data|strict-transport-security|content-security-policy.*|"
    "access-control-.*|alt-svc|refresh|report-to|nel|service-worker-allowed|sv-.*|"
    "x-accel-(?:redirect|expires|charset|limit-rate)|x-sendfile|x-lighttpd-send-file|x-reproxy-url|surrogate-control|"
    ".*-cache-control"
)
MARKER = re.compile(r"\$\{TOKEN\}|\$<TOKEN>|\$\{BASIC:([!-9;-|~]{0,128})\}")  # PRX-13, HTP-21
HEAD_SECONDS, IDLE_SECONDS = 28, 300  # PRX-40: a refresh before the call included


def proxy(request, state, settings):
    given = request.values("sv-ticket")  # covered by the signature, which was verified before
    ticket = tickets.accept(given[0] if len(given) == 1 else None, "proxy", state, settings)
    try:
        answer = forward(request, ticket, state, settings)
    except Refusal as refusal:
        with state.transaction() as db:
            log(db, "proxy.called", refusal.code, ticket["svc"], ticket)
        raise
    return answer


def forward(request, ticket: dict, state, settings):
    config = storage.load_proxy(state, ticket["prx"])
    if config is None:
        raise Refusal("NOT_FOUND", "there is no such proxy")  # PRX-18
    if config["service"] != ticket["svc"]:
        raise denied("the ticket is for another record")  # TIX-39
    record = records.load(state, config["service"])
    if record is None:
        raise Refusal("NOT_FOUND", "there is no such record")
    sealed, templates = json.loads(record["settings"]), json.loads(config["templates"])
    members, method = json.loads(config["members"]), ticket["htm"]
    parameters = members.get("queryTemplates", {})
    target = http_apis.target_of(request, config["url"], members, method)
    check_destination(config["url"], templates, parameters, sealed)
    headers = agents_headers(request, members, templates)
    unfilled = http_apis.with_query(target, list(parameters.items()))  # HTP-15
    asked = asked_of(config["url"], unfilled, method, headers, templates, request.body)
    lists_tools = "requests" in sealed and request_rules.decide(sealed["requests"], asked)  # RUL-05, RUL-15
    call, gone = outgoing.Call(config["url"], settings.allowed, HEAD_SECONDS, target), threading.Event()
    calls = [call]
    try:
        call.resolve()
        record = records.usable(state, settings, record)  # PRX-09, PRX-10, PRX-33
        token = records.access_token(record)
        if short.is_short(token) and not json.loads(record["settings"]).get("allowShortSecret"):
            raise Refusal("NOT_INJECTABLE", "the token is short, and allowShortSecret is not true")  # PRX-47
        headers += filled(templates, token)
        call.target = http_apis.with_query(target, put_in(parameters, token, is_encoded=True))
        with state.transaction() as db:
            log(db, "proxy.called", "success", ticket["svc"], ticket)  # before the call: whatever follows, it was used
        threading.Thread(target=watch, args=(request.client, calls, gone), daemon=True).start()
        is_in_query = any(map(MARKER.search, parameters.values()))
        back = comes_back(token, is_in_query)
        response = call.send(method, headers, request.body)  # PRX-06, PRX-07
        response = http_apis.follow(calls, response, members, method, request.body != b"", back)
        call = calls[-1]
        call.sock.settimeout(IDLE_SECONDS)
        pieces = Pieces(response, call, gone)
        if lists_tools:
            pieces.hide(request_rules.shown_at(sealed["requests"], asked.origin, asked.target))
    except BaseException as error:
        gone.set()
        calls[-1].close()
        if isinstance(error, outgoing.NotAllowed):
            raise denied("the upstream's address is not one to call") from None  # PRX-16
        if isinstance(error, outgoing.Failed):  # PRX-29
            code = "UPSTREAM_TIMEOUT" if error.late else "UPSTREAM_ERROR"
            raise Refusal(code, "the upstream did not answer") from None
        raise
    call.timer.cancel()
    length = None if response.length is None or lists_tools else str(response.length)
    returned = returned_headers(response, back, length)
    if len(calls) > 1:  # HTP-34
        returned = [each for each in returned if each[0].lower() not in ("location", "content-location", "link")]
    if method == "HEAD":  # HTP-28
        returned += [("sv-content-length", each) for each in response.headers.get_all("content-length", [])[:1]]
    return response.status, returned, pieces


def denied(text: str) -> Refusal:
    return Refusal("DESTINATION_NOT_ALLOWED", text)


def check_destination(url: str, templates: dict, parameters: dict, sealed: dict) -> None:
    """All that is decided without the network; on each call anew (PRX-08, PRX-12, PRX-15)."""
    if not outgoing.is_among(outgoing.origin(url), sealed["allowedHosts"]):
        raise denied("the upstream's scheme, host and port are not among the record's")
    allowed_headers = {each.lower() for each in sealed["allowedHeaders"]}
    for name, value in templates.items():
        if storage.FORBIDDEN.fullmatch(name) or (MARKER.search(value) and name.lower() not in allowed_headers):
            raise denied("a header that the token may not stand in")
    if any(MARKER.search(value) and name not in sealed.get("allowedQuery", []) for name, value in parameters.items()):
        raise denied("a parameter that the token may not stand in")  # HTP-25


def asked_of(url: str, target: str, method: str, headers: list, templates: dict, body: bytes) -> request_rules.Asked:
    """What the upstream would get, with the markers where the token will stand (RUL-04)."""
    own = [("host", ""), ("content-length", str(len(body)))]
    return request_rules.Asked(outgoing.origin(url), target, method, [*headers, *templates.items(), *own], body)


def agents_headers(request, members: dict, templates: dict) -> list:
    """Those that go on: not where a template has the name (PRX-21)."""
    replaced = {name.lower() for name in templates} | {"accept-encoding"}
    of_mcp = [(name, value) for name, value in request.headers if FORWARDED.fullmatch(name)]
    travelling = http_apis.travelling(request) if "kind" in members else of_mcp
    headers = [(name, value) for name, value in travelling if name not in replaced]
    return [*headers, ("accept-encoding", "identity")]  # PRX-04


def filled(templates: dict, token: str) -> list:
    is_encoded = any(match[1] is not None for value in templates.values() for match in MARKER.finditer(value))
    headers = put_in(templates, token, is_encoded)
    for _, value in headers:
        check_field(value)
    return [each for each in headers if each[0].lower() != "accept-encoding"]


def put_in(templates: dict, token: str, is_encoded: bool) -> list:
    if templates and is_encoded:
        check_field(token)  # HTP-23
    # In one pass: what was put in is not looked at again (PRX-13).
    return [(name, MARKER.sub(lambda marker: put_as(marker[1], token), value)) for name, value in templates.items()]


def put_as(user: str | None, token: str) -> str:
    return token if user is None else base64.b64encode(f"{user}:{token}".encode()).decode()  # HTP-21


def check_field(value: str) -> None:
    if any(each != "\t" and not 0x20 <= ord(each) <= 0x7E for each in value):  # a tab is legal (PRX-51)
        raise Refusal("NOT_INJECTABLE", "the token makes no legal header")  # PRX-17


def comes_back(token: str, is_in_query: bool):
    """Whether a header of the upstream may come back, by its name and value (PRX-26, PRX-48, HTP-27)."""
    is_short, secret = short.is_short(token), traces(token)
    beside = short.BESIDE - {"location"} if is_in_query else short.BESIDE
    return lambda name, value: name.lower() in beside if is_short else not holds(value, secret)


def returned_headers(response: http.client.HTTPResponse, may_come_back, length: str | None) -> list:
    named = {each.strip().lower() for value in response.headers.get_all("connection", []) for each in value.split(",")}
    back = [("sv-proxy-origin", "upstream")]  # PRX-27
    for name, value in response.headers.items():
        value = re.sub(r"\r?\n[ \t]*", " ", value)
        if KEPT_BACK.fullmatch(name.lower()) or name.lower() in named:
            continue
        if may_come_back(name, value):
            back.append((name, value))
    if length is not None:
        back.append(("content-length", length))
    return back


def traces(token: str) -> list:
    """The token as it is, and what of its base64 stays the same wherever it begins (PRX-26, PRX-34)."""
    raw = token.encode()
    found = [raw]
    for before in range(3):
        text = base64.b64encode(b"\0" * before + raw).rstrip(b"=")
        inner = text[-(-8 * before // 6) : (8 * (before + len(raw))) // 6]
        found += [inner, inner.translate(bytes.maketrans(b"+/", b"-_"))]
    return found


def holds(value: str, secret: list) -> bool:
    raw = value.encode("latin-1", "replace")
    return any(trace in raw or trace in unquote_to_bytes(raw) for trace in secret)


class Pieces:
    """The answer as it comes (PRX-24). Raises where the upstream breaks off, and the server does so too (PRX-36)."""

    def __init__(self, response: http.client.HTTPResponse, call: outgoing.Call, gone: threading.Event):
        self.response, self.call, self.gone = response, call, gone
        self.pieces = self.read()

    def __iter__(self):
        return self.pieces

    def hide(self, shows) -> None:
        """Leaves out the tools that are not shown (RUL-14)."""
        try:
            self.pieces = tool_lists.filtered(self.pieces, self.response.headers, shows)
        except (OSError, http.client.HTTPException, ValueError):
            raise outgoing.Failed(self.call.late) from None

    def read(self):
        while True:
            piece = self.response.read1(65536)
            if not piece:
                break
            yield piece
        if self.response.length:
            raise ConnectionError("the upstream broke off")

    def close(self) -> None:
        self.gone.set()
        self.call.close()


def watch(client: socket.socket, calls: list, done: threading.Event) -> None:
    """Ends the call once the service is gone (PRX-35), which nobody notices while there is nothing to write."""
    while not done.wait(0.5):
        try:
            if select.select([client], [], [], 0)[0] and client.recv(1, socket.MSG_PEEK) == b"":
                break
        except (OSError, ValueError):
            break
    else:
        return
    calls[-1].cut()
