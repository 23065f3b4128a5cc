"""What a request asks for, as request rules look at it (section 5.7).

One that two programs could read differently is denied: the rules would speak of one reading, and the upstream could
serve the other.
"""

from __future__ import annotations

import json
import re
import unicodedata

from wire import Refusal, is_header_name


def denied(why: str) -> Refusal:
    return Refusal("REQUEST_NOT_ALLOWED", f"the record's rules do not allow the request: {why}")


def is_method(text: object) -> bool:
    """RUL-08."""
    return isinstance(text, str) and re.fullmatch("[A-Z]{1,20}", text) is not None and text not in ("CONNECT", "TRACE")


# Paths

PATH = re.compile(r"/(?:[A-Za-z0-9._~!$&'()*+,=:@/-]|%[0-9A-Fa-f]{2})*")  # RFC 3986 section 3.3, without `;`
ENCODED_DELIMITER = re.compile(r"%(?:2f|5c|3b|[01][0-9a-f]|7f)", re.IGNORECASE)
TRIPLET = re.compile("%[0-9A-Fa-f]{2}")
UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
DOTS = re.compile(r"\.(?:\.|%20)*")
LOOKS_LIKE_DELIMITER = re.compile(r"[\x00-\x20./\\;%?#\x7f-\x9f]")


def segments_of(path: str) -> list:
    """A path's segments in their one spelling (RUL-06). Raises a Refusal where another program could read others."""
    if len(path) > 4096 or not PATH.fullmatch(path) or "//" in path or ENCODED_DELIMITER.search(path):
        raise denied("its path holds what programs read differently")  # RUL-07
    for each in decoded(path):
        if not each.isascii() and LOOKS_LIKE_DELIMITER.search(each + unicodedata.normalize("NFKC", each)):
            raise denied("its path has characters that some programs take for delimiters")
    path = TRIPLET.sub(one_spelling, path)
    segments = path[1:].split("/")
    # After the decoding, since `%25%32%46` is `%252F` as well.
    if re.search("%25[0-9A-Fa-f]{2}", path) or any(map(DOTS.fullmatch, segments)):
        raise denied("its path has a dot segment, or is encoded twice")
    return segments


def one_spelling(triplet: re.Match) -> str:
    character = chr(int(triplet[0][1:], 16))
    return character if UNRESERVED.fullmatch(character) else triplet[0].upper()


def decoded(text: str) -> str:
    """Percent-decoded; urllib would let pass what is malformed."""
    if re.search("%(?![0-9A-Fa-f]{2})", text):
        raise denied("its percent-encoding is malformed")
    try:
        return re.sub(f"(?:{TRIPLET.pattern})+", lambda run: bytes.fromhex(run[0].replace("%", "")).decode(), text)
    except UnicodeDecodeError:
        raise denied("its percent-encoding is not of UTF-8") from None


# Other methods and paths that a request could name for the upstream to take (RUL-09)

METHOD_HEADERS = set("""
x-http-method x-http-method-override x-method-override x-original-method x-forwarded-method""".split())
METHOD_PARAMETERS = set("_method _http_method _method_override $method $httpmethod $httpheaders".split())
PATH_HEADERS = set("""
x-original-url x-original-uri x-original-path x-rewrite-url x-forwarded-uri x-forwarded-url x-forwarded-path
x-forwarded-prefix x-script-name script-name path-info destination x-amz-copy-source x-amz-rename-source x-copy-from
x-goog-copy-source x-ms-copy-source x-ms-rename-source""".split())
SINGLE = set("""
host content-type content-length content-encoding transfer-encoding mcp-method mcp-name""".split())


def fields_of(headers: list, body: bytes) -> dict:
    """By names with `-` for all but letters and digits: CGI, WSGI and some servers make one variable of names that
    differ only there (RFC 3875 section 4.1.18)."""
    fields = {}
    for name, value in headers:
        folded = re.sub("[^a-z0-9]", "-", name.lower())
        if not is_header_name(name) or not re.fullmatch(r"[\t\x20-\x7e]*", value):
            raise denied("a header is malformed")
        if folded in METHOD_HEADERS or folded in PATH_HEADERS:
            raise denied("a header names another method or path")
        if folded in fields and folded in SINGLE:
            raise denied("a header stands twice")
        fields[folded] = value
    length, coding = fields.get("content-length"), fields.get("transfer-encoding")
    if (length, coding) not in ((None, None), (str(len(body)), None), (None, "chunked")):
        raise denied("its headers say different lengths of its body")
    return fields


def check_query(query: str) -> None:
    if not re.fullmatch(r"[!$-\[\]-~]*", query):
        raise denied("its query is malformed")
    check_form(query)


def check_form(form: str) -> None:
    for pair in re.split("[&;]", form):
        check_parameter(decoded(pair.partition("=")[0].replace("+", " ")))


def check_parameter(name: str) -> None:
    """PHP makes `_` of spaces, dots and brackets, and ends a name where its indexes or a NUL begin."""
    folded = re.sub("[ .-]", "_", re.split(r"[\[\0]", name.lstrip())[0]).lower()
    if folded in METHOD_PARAMETERS or folded.replace("_", "-") in METHOD_HEADERS:
        raise denied("a parameter names another method")


def check_body(fields: dict, body: bytes) -> None:
    """Looks for all that a Content-Type names, since it may have the word for one format in a parameter of another."""
    kind, text = fields.get("content-type", "").lower(), body.decode("latin-1")
    is_form, is_multipart = kind == "" or "urlencoded" in kind, "multipart" in kind  # Rack takes no type for a form
    is_json = re.search("(?<!nd)json", kind) is not None
    if not is_form and not is_multipart and not is_json:
        return
    charsets = re.findall(r"""charset[^=]*=\s*["']?([^\s"';,]*)""", kind)
    if any(not re.fullmatch("utf-?8|us-ascii|iso-8859-1", each) for each in charsets):
        raise denied("its body is in a character set in which a name could hide")
    if fields.get("content-encoding", "identity") != "identity":
        raise denied("its body is compressed")
    if is_form:
        check_form(text)
    if is_multipart:
        check_parts(text)
    if is_json and re.search(r"[_$-](?:http)?method|\$httpheaders|\\u00[2-7]", text, re.IGNORECASE):
        check_members(body)


DISPOSITION = re.compile(r"content-disposition([^\n]*)(\n[ \t])?", re.IGNORECASE)
PLAIN_PART = re.compile(  # RFC 7578 section 4.2, without what some programs decode
    r""":[ \t]*form-data;[ \t]*name="([^"\\%?\r]*)"(?:;[ \t]*filename="[^"\r]*")?"""
    r"""(?:;[ \t]*filename\*=[\w!#$&+\-^`{}|~'%.]+)?[ \t]*\r?""", re.IGNORECASE | re.ASCII,
)


def check_parts(text: str) -> None:
    for disposition in DISPOSITION.finditer(text):
        parameters, fold = disposition.groups()
        if fold is None and not re.search("(?<!file)name", parameters, re.IGNORECASE):
            continue
        part = PLAIN_PART.fullmatch(parameters)
        if fold is not None or part is None:
            raise denied("a part of its form is not named plainly")
        check_parameter(part[1])


def check_members(body: bytes) -> None:
    try:
        value = json.loads(body.decode("utf-8", "replace"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise denied("its body is not the JSON that it is said to be") from None
    for name in value if isinstance(value, dict) else []:
        check_parameter(name)


def _refuse(constant: str) -> None:
    raise ValueError  # NaN and Infinity are no JSON
