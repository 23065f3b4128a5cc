"""Request rules (section 5.7): what a proxy may ask of an upstream with a record.

`parse` takes them in, `decide` compares them with a request. How a request is read is in request_reading.py, what
becomes of the tools that an upstream lists in tool_lists.py.
"""

from __future__ import annotations

import base64
import re
from typing import Callable, NamedTuple

import outgoing
from request_reading import check_body, check_query, denied, fields_of, is_method, segments_of
from wire import Refusal, compact, invalid, parse_object

MAX_ENTRIES, MAX_BYTES = 500, 16 * 1024
HANDSHAKE = ["initialize", "server/discover", "ping", "notifications/*", "tools/list"]  # RUL-12
MISSING = object()


class Asked(NamedTuple):
    """A request as the upstream would get it (RUL-04)."""

    origin: tuple[str, str, int]  # as `outgoing.origin` has it
    target: str
    method: str
    headers: list
    body: bytes


# The form of rules

def parse(value: object) -> list:
    """`requests` of a store's body, to be kept and listed as it is (RUL-01, RUL-02)."""
    rules = without_nulls(value)
    if not is_list(rules, 50, is_rule) or entries_in(rules) > MAX_ENTRIES or len(compact(rules).encode()) > MAX_BYTES:
        raise invalid("requests is not a list of rules in the form of section 5.7")
    return rules


def without_nulls(value: object) -> object:
    """A member that is null counts as absent (TRN-10); in a list it is a value."""
    if isinstance(value, list):
        return [without_nulls(each) for each in value]
    if isinstance(value, dict):
        return {name: without_nulls(each) for name, each in value.items() if each is not None}
    return value


def entries_in(value: object) -> int:
    if isinstance(value, dict):
        return sum(map(entries_in, value.values()))
    return len(value) + sum(map(entries_in, value)) if isinstance(value, list) else 0


def is_list(value: object, most: int, is_entry: Callable) -> bool:
    return isinstance(value, list) and 1 <= len(value) <= most and all(map(is_entry, value))


def is_rule(rule: object) -> bool:
    kinds = [name for name in ("methods", "tools", "mcp") if isinstance(rule, dict) and name in rule]
    if len(kinds) != 1 or "paths" not in rule or ("arguments" in rule and kinds != ["tools"]):
        return False
    return all(name in FORM and FORM[name](member) for name, member in rule.items())


def is_path(text: object) -> bool:
    if not isinstance(text, str):
        return False
    try:
        *before, last = segments_of(text)
    except Refusal:
        return False
    return all(each == "*" or "*" not in each for each in [*before, "" if last == "**" else last])


def is_name(text: object) -> bool:
    return isinstance(text, str) and re.fullmatch(r"[\x21-\x7e]{1,200}", text) is not None


def is_arguments(value: object) -> bool:
    return isinstance(value, dict) and 1 <= len(value) <= 20 and all(
        re.fullmatch(r"(?:/(?:[^~/]|~[01])*)+", pointer) and is_list(values, 100, is_scalar)
        for pointer, values in value.items()
    )


def is_scalar(value: object) -> bool:
    if type(value) is int:  # not a bool, which is an int in Python
        return abs(value) < 2**53
    return value is None or isinstance(value, bool) or (isinstance(value, str) and len(value) <= 1000)


FORM = {
    "hosts": lambda value: is_list(value, 50, lambda entry: entry != "*" and outgoing.is_allowed_host(entry)),
    "paths": lambda value: is_list(value, 50, is_path),
    "methods": lambda value: is_list(value, 20, is_method),
    "tools": lambda value: is_list(value, 50, is_name),
    "mcp": lambda value: is_list(value, 50, is_name),
    "arguments": is_arguments,
}


# Deciding

def decide(rules: list, asked: Asked) -> bool:
    """Whether tools have to be left out of the answer. Raises a Refusal where no rule matches the request (RUL-03)."""
    if not is_method(asked.method):
        raise denied("its method is none that a proxy passes on")
    path, mark, query = asked.target.partition("?")
    there = rules_at(rules, asked.origin, segments_of(path))
    if mark:
        check_query(query)
    fields = fields_of(asked.headers, asked.body)
    if asked.method == "POST" and asked.body:
        check_body(fields, asked.body)
    if any(allows_method(rule["methods"], asked.method) for rule in there if "methods" in rule):
        return False
    for_mcp = [rule for rule in there if "methods" not in rule]
    if for_mcp and asked.method in ("GET", "DELETE") and not asked.body:
        return True  # the stream of what the server sends, and the end of a session (RUL-10)
    if not for_mcp or asked.method != "POST":
        raise denied("no rule matches it")
    message = read_message(fields, asked.body)
    # All of them, so that the order of the rules does not decide whether an ambiguity is met.
    if not any([allows_message(rule, message) for rule in for_mcp]):
        raise denied("no rule matches its message")
    return message.method == "tools/list"


def rules_at(rules: list, origin: tuple, segments: list) -> list:
    """Those whose hosts and paths match."""
    return [
        rule for rule in rules
        if ("hosts" not in rule or outgoing.is_among(origin, rule["hosts"]))
        and any(matches_path(segments_of(path), segments) for path in rule["paths"])
    ]


def matches_path(pattern: list, segments: list) -> bool:
    if pattern[-1] == "**":
        pattern = pattern[:-1]
        if len(segments) <= len(pattern):
            return False
        segments = segments[: len(pattern)]
    return len(pattern) == len(segments) and all(
        segment != "" if each == "*" else segment == each for each, segment in zip(pattern, segments)
    )


def allows_method(methods: list, method: str) -> bool:
    return method in methods or (method == "HEAD" and "GET" in methods)


def shown_at(rules: list, origin: tuple, target: str) -> Callable[[str], bool]:
    """Whether some call of a tool is allowed there, by its name (RUL-14)."""
    there = rules_at(rules, origin, segments_of(target.partition("?")[0]))
    return lambda name: any(allows_tool(rule, name) for rule in there)


# Messages of MCP

class Message(NamedTuple):
    method: str | None  # None: it answers what the upstream asked
    tool: str | None = None  # that it calls
    arguments: dict = {}


def read_message(fields: dict, body: bytes) -> Message:
    """One JSON-RPC 2.0 message with one reading (RUL-10, RUL-11)."""
    kind = r'application/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?'
    if not re.fullmatch(kind, fields.get("content-type", ""), re.IGNORECASE):
        raise denied("its body is not said to be JSON in UTF-8")
    if fields.get("content-encoding", "identity") != "identity":
        raise denied("its body is compressed")
    try:
        message = parse_object(body)  # which refuses a batch, and a name twice
    except Refusal:
        raise denied("its body is not one JSON object") from None
    check_case(message, ["jsonrpc", "id", "method", "params", "result", "error"])
    method, params, is_answer = message.get("method"), message.get("params"), bool({"result", "error"} & set(message))
    if message.get("jsonrpc") != "2.0" or type(message.get("id")) not in (type(None), str, int, float):
        raise denied("its body is not a message of JSON-RPC 2.0")
    if is_answer and not {"method", "params"} & set(message):
        check_mirrors(fields, None, {})
        return Message(None)
    params = {} if params is None else params
    if is_answer or not isinstance(method, str) or not isinstance(params, dict):
        raise denied("its body is not a message of JSON-RPC 2.0")
    check_case(params, ["name", "arguments", "uri", "_meta"])
    check_mirrors(fields, method, params)
    if method != "tools/call":
        return Message(method)
    tool, arguments = params.get("name"), params.get("arguments")
    arguments = {} if arguments is None else arguments
    if not isinstance(tool, str) or not isinstance(arguments, dict):
        raise denied("it calls a tool without a name, or with arguments that are no object")
    return Message(method, tool, arguments)


def check_case(members: dict, expected: list) -> None:
    """Some parsers read names without case, Go's among them."""
    if any(name not in expected and fold(name) in expected for name in members):
        raise denied("a member's name differs from a known one in letter case alone")


def fold(text: str) -> str:
    return text.upper().lower()  # upper first: `ſ` is another lower-case letter of `S`


def check_mirrors(fields: dict, method: str | None, params: dict) -> None:
    """Gateways go by the headers that repeat members of the body."""
    if fields.get("mcp-method", method) != method:
        raise denied("Mcp-Method says something else than its body")
    said, name = fields.get("mcp-name"), params.get("uri" if method == "resources/read" else "name")
    if said is None:
        return
    if isinstance(name, str) and re.fullmatch(r"=\?base64\?.*\?=", said, re.IGNORECASE):
        name = f"=?base64?{base64.b64encode(name.encode()).decode()}?="
    if said != name:
        raise denied("Mcp-Name says something else than its body")


def allows_message(rule: dict, message: Message) -> bool:
    """RUL-12 and RUL-13."""
    if message.method is None:
        return True
    if message.tool is None:
        return any(matches_name(each, message.method) for each in [*HANDSHAKE, *rule.get("mcp", [])])
    if not allows_tool(rule, message.tool):
        return False
    wanted = rule.get("arguments", {})
    given = {pointer: value_at(message.arguments, pointer) for pointer in wanted}
    return all(any(is_same(value, given[pointer]) for value in values) for pointer, values in wanted.items())


def allows_tool(rule: dict, name: str) -> bool:
    return any(matches_name(each, name) for each in rule.get("tools", [])) or any(
        matches_name(each, "tools/call") for each in rule.get("mcp", [])
    )


def matches_name(pattern: str, name: str) -> bool:
    """`*` is any number of characters. By hand, since a regular expression would try each for all of those before."""
    head, *parts = pattern.split("*")
    if not parts:
        return name == pattern
    at, tail = len(head), parts.pop()
    if not name.startswith(head) or not name.endswith(tail):
        return False
    for part in parts:
        at = name.find(part, at)
        if at == -1:
            return False
        at += len(part)
    return at + len(tail) <= len(name)


def value_at(value: object, pointer: str) -> object:
    """What a JSON pointer (RFC 6901) leads to, or MISSING."""
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            if any(name != token and fold(name) == fold(token) for name in value):
                raise denied("an argument's name differs from another in letter case alone")  # RUL-16
            value = value.get(token, MISSING)
        elif isinstance(value, list) and re.fullmatch("0|[1-9][0-9]{0,8}", token) and int(token) < len(value):
            value = value[int(token)]
        else:
            return MISSING
    return value


def is_same(value: object, given: object) -> bool:
    """Of one type: True == 1 == 1.0 in Python, and not every upstream reads 1.0 as an integer."""
    return type(value) is type(given) and value == given
