"""Reads a request per line, in base64, as a Python server would, and prints its reading, a line of JSON."""

import base64
import http.server
import io
import json
import posixpath
import sys
import urllib.parse


class Request(http.server.BaseHTTPRequestHandler):
    """Parses the bytes that it is given, without a socket."""

    def __init__(self, raw):
        self.rfile = io.BytesIO(raw)
        self.wfile = io.BytesIO()
        self.raw_requestline = self.rfile.readline(65537)
        self.is_read = self.parse_request()

    def log_message(self, *_):
        pass


def environ_of(request):
    """As WSGI servers make it: `-` and `_` are the same."""
    return {name.upper().replace("-", "_"): value for name, value in request.headers.items()}


def path_of(target):
    path = urllib.parse.unquote(urllib.parse.urlsplit(target).path, errors="strict")
    clean = posixpath.normpath(path)
    return clean + "/" if path.endswith("/") and clean != "/" else clean


def method_of(request, environ, body):
    fields = urllib.parse.parse_qs(urllib.parse.urlsplit(request.path).query, keep_blank_values=True)
    if request.command == "POST" and "urlencoded" in environ.get("CONTENT_TYPE", ""):
        fields.update(urllib.parse.parse_qs(body.decode("latin-1"), keep_blank_values=True))
    named = environ.get("X_HTTP_METHOD_OVERRIDE") or fields.get("_method", [None])[0]
    return request.command if named is None else named.upper()


def call_of(body):
    message = json.loads(body)
    if message.get("method") != "tools/call":
        return [message.get("method"), None, None, None]
    params = message.get("params") or {}
    arguments = params.get("arguments") or {}
    return ["tools/call", params.get("name"), arguments.get("repo"), written(arguments.get("number"))]


def written(value):
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def reading_of(raw):
    request = Request(raw)
    if not request.is_read:
        return "refused"
    environ = environ_of(request)
    body = request.rfile.read(int(environ.get("CONTENT_LENGTH", "0")))
    target = environ.get("X_ORIGINAL_URL", request.path)
    is_message = request.command == "POST" and environ.get("CONTENT_TYPE", "").lower().startswith("application/json")
    call = call_of(body) if is_message else [None] * 4
    return [method_of(request, environ, body), path_of(target), *call]


for line in sys.stdin:
    try:
        reading = reading_of(base64.b64decode(line))
    except Exception:  # Whatever a server would answer 400 or 500 to.
        reading = "refused"
    print(json.dumps(reading), flush=True)
