"""Lists of tools, of which an agent gets only those that it may call (RUL-14)."""

from __future__ import annotations

import json
import re
from typing import Callable, Iterable, Iterator

from request_rules import fold

MAX_BYTES = 8 * 1024 * 1024  # of a list, or of an event


def filtered(pieces: Iterator[bytes], headers, shows: Callable[[str], bool]) -> Iterator[bytes]:
    """An answer without the tools that are not shown. Raises ValueError, at once or later, where it is unreadable."""
    kind = ",".join(headers.get_all("content-type", [])).lower()
    is_stream = "event-stream" in kind
    if not is_stream and "json" not in kind:
        return pieces
    if headers.get("content-encoding", "identity").lower() not in ("", "identity"):
        raise ValueError
    return events(pieces, shows) if is_stream else iter([visible(whole(pieces), shows)])


def whole(pieces: Iterable[bytes]) -> bytes:
    found = b""
    for piece in pieces:
        found += piece
        if len(found) > MAX_BYTES:
            raise ValueError
    return found


def visible(text: bytes, shows: Callable[[str], bool]) -> bytes:
    """Written anew where nothing is hidden too: a name that stands twice means one thing then."""
    try:
        value = json.loads(text.decode()) if text else None
        for message in value if isinstance(value, list) else [value]:
            for result in members(message, "result"):
                hide(result, shows)
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode() if text else b""
    except RecursionError:
        raise ValueError from None


def hide(result: object, shows: Callable[[str], bool]) -> None:
    for name, tools in result.items() if isinstance(result, dict) else []:
        if fold(name) == "tools" and isinstance(tools, list):
            result[name] = [tool for tool in tools if is_visible(members(tool, "name"), shows)]


def is_visible(names: list, shows: Callable[[str], bool]) -> bool:
    return names != [] and all(isinstance(name, str) and shows(name) for name in names)


def members(value: object, wanted: str) -> list:
    """All of that name, since some clients read names without case."""
    return [each for name, each in value.items() if fold(name) == wanted] if isinstance(value, dict) else []


LINE_END = re.compile(rb"\r\n|\n|\r")
DATA = re.compile(rb"data(?:: ?|\Z)")


def events(pieces: Iterable[bytes], shows: Callable[[str], bool]) -> Iterator[bytes]:
    """WHATWG HTML section 9.2.6: events end with an empty line. What is left at the end is none."""
    rest, lines, size, is_first, is_after_cr = b"", [], 0, True, False
    for piece in pieces:
        piece = piece.removeprefix(b"\n") if is_after_cr else piece  # the other half of a line's end
        is_after_cr = piece.endswith(b"\r")
        *ended, rest = LINE_END.split(rest + piece)
        for line in ended:
            if is_first:
                line, is_first = line.removeprefix(b"\xef\xbb\xbf"), False
            if line:
                lines.append(line)
                size += len(line)
            elif lines:
                yield event(lines, shows)
                lines, size = [], 0
        if size + len(rest) > MAX_BYTES:
            raise ValueError


def event(lines: list, shows: Callable[[str], bool]) -> bytes:
    data = b"\n".join(DATA.sub(b"", line, count=1) for line in lines if DATA.match(line))
    if re.search(r"tools|\\u", data.decode("utf-8", "replace"), re.IGNORECASE):  # however the name is escaped
        lines = [line for line in lines if not DATA.match(line)] + [b"data: " + visible(data, shows)]
    return b"\n".join(lines) + b"\n\n"
