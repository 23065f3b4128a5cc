"""HTTP APIs (section 5.8): configurations, targets, header fields and redirects."""

from __future__ import annotations

import re
from urllib.parse import quote, urljoin

import outgoing
from wire import Refusal, invalid, member

OF_MCP = ("GET", "POST", "DELETE", "OPTIONS")  # TIX-23
NAME = re.compile("[A-Za-z0-9._~-]{1,128}")
WITHHELD = re.compile(  # HTP-16; names come in lower case
    "host|content-length|expect|accept-encoding|connection|keep-alive|te|trailer|transfer-encoding|upgrade|"
    "http2-settings|authorization|x-mcp-key|x-agent-key|cookie2?|origin|referer|forwarded|x-forwarded-.*|x-real-ip|via|"
    "proxy-.*|sec-.*|sv-.*|content-digest|signature|signature-input"
)
MAX_REDIRECTS = 3


def is_method(text: object) -> bool:
    """HTP-10."""
    return isinstance(text, str) and re.fullmatch("[A-Z-]{1,20}", text) is not None and text not in ("CONNECT", "TRACE")


# Configurations

def parse_members(operation: dict, url: str) -> dict:
    """The members that a configuration of MCP does not have (HTP-02 to HTP-04)."""
    kind, redirects = member(operation, "kind", str, None), member(operation, "redirects", str, None)
    templates = member(operation, "queryTemplates", dict, None)
    if kind not in (None, "http") or redirects not in (None, "follow-without-credential"):
        raise invalid("no such kind, or no such redirects")
    if "?" in url if kind else (templates, redirects) != (None, None):
        raise invalid("the base has a query, or the members are for kind http")
    if templates is not None:
        check_names(list(templates))
        if not all(isinstance(each, str) and re.fullmatch(r"[\t\x20-\x7e]{0,512}", each) for each in templates.values()):
            raise invalid("a query template is up to 512 characters of a header")
    members = {"kind": kind, "queryTemplates": templates, "redirects": redirects}
    return {name: value for name, value in members.items() if value is not None}


def check_names(names: list) -> None:
    """HTP-05."""
    if not 1 <= len(names) <= 5 or not all(isinstance(each, str) and NAME.fullmatch(each) for each in names):
        raise invalid("that is not one to five names of a query")


# Requests

def target_of(request, url: str, members: dict, method: str) -> str:
    """The request target, without the credential. Raises a Refusal where it may not be called."""
    given = request.values("sv-target")  # covered by the signature, which was verified before
    if len(given) != ("kind" in members) or ("kind" not in members and method not in OF_MCP):
        raise Refusal("DESTINATION_NOT_ALLOWED", "the configuration is for another kind of request")  # HTP-09, HTP-10
    if not given:
        return outgoing.split(url)[3]
    rest, base = given[0], re.sub(r"^https?://[^/]*", "", url).removesuffix("/")
    path, _, query = rest.partition("?")
    if len(rest) > 8192 or not re.fullmatch(r"(?:[/?][!-~]*)?", rest) or "#" in rest or "\\" in rest:
        raise denied("it is too long, or has other characters than a URL")  # HTP-12
    if any(re.fullmatch(r"\.[. ]*(?:;.*)?", each) for each in segments_of(path)) or (not base and path[:2] == "//"):
        raise denied("its path leads elsewhere")  # HTP-12 to HTP-14
    names = [decoded(pair.partition("=")[0].replace("+", " ")) for pair in re.split("[&;]", query)]
    if set(names) & set(members.get("queryTemplates", {})):
        raise denied("its query names a parameter that the proxy adds")  # HTP-26
    return base + rest if (base + rest)[:1] == "/" else "/" + rest  # HTP-11


def denied(why: str) -> Refusal:
    return Refusal("REQUEST_NOT_ALLOWED", f"the request cannot be sent on: {why}")


def segments_of(path: str) -> list:
    """Segments as a program sees them that decodes the path, even repeatedly, before it splits it."""
    return re.split(r"[/\\]", decoded(re.sub("%(?:25)+", "%", path)))


def decoded(text: str) -> str:
    """Each escape by itself, so that a broken one hides nothing."""
    return re.sub("%([0-9A-Fa-f]{2})", lambda escape: chr(int(escape[1], 16)), text)


def with_query(target: str, parameters: list) -> str:
    """HTP-24."""
    added = "&".join(name + "=" + quote(value, safe="!'()*") for name, value in parameters)
    if not added:
        return target
    # A later question mark is part of a value.
    question = target.find("?")
    return target + ("?" if question == -1 else "" if question == len(target) - 1 else "&") + added


def travelling(request) -> list:
    """The fields of the agent that are sent on: those that the signature covers, except those of HTP-16 (HTP-18)."""
    named = {each.strip().lower() for value in request.values("connection") for each in value.split(",")}
    return [
        (name, value) for name, value in request.headers
        if name in request.covered and name not in named and not WITHHELD.fullmatch(name)
    ]


# Redirects

def follow(calls: list, response, members: dict, method: str, has_body: bool, may_come_back):
    """The answer to hand back, once redirects are followed. Each call is added to the list."""
    if "redirects" not in members or method not in ("GET", "HEAD") or has_body:
        return response
    while response.status in (300, 301, 302, 303, 307, 308):
        call, locations = calls[-1], response.headers.get_all("location", [])
        if len(locations) != 1 or not may_come_back("location", locations[0]):
            return response  # HTP-30
        here = f"{call.scheme}://{outgoing.host_header(call.scheme, call.host, call.port)}{call.target}"
        url = urljoin(here, locations[0]).partition("#")[0]
        try:
            origin = outgoing.origin(url)
        except ValueError:
            return response
        if len(calls) == 1 and origin == outgoing.origin(here):
            return response
        if len(calls) > MAX_REDIRECTS or (calls[0].scheme == "https" and origin[0] != "https"):
            raise outgoing.Failed(late=False)  # HTP-32, HTP-33
        response = called(calls, url, method)
    if len(calls) > 1 and response.status in (401, 407):
        raise outgoing.Failed(late=False)  # HTP-33
    return response


def called(calls: list, url: str, method: str):
    """Calls without the credential and the fields of the agent (HTP-31)."""
    former = calls[-1]
    former.close()
    calls.append(outgoing.Call(url, former.allowed, former.left()))
    try:
        calls[-1].resolve()
    except outgoing.NotAllowed:
        raise outgoing.Failed(late=False) from None  # HTP-33
    return calls[-1].send(method, [("accept-encoding", "identity")], b"")
