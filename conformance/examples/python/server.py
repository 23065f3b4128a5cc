"""HTTP: what comes in becomes a Request, what a part answers goes out with what its endpoint always says."""

from __future__ import annotations

import json
import re
import socket
import time
import traceback
from email import errors
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl

import binding
import proxy
import records
import refresh
import signatures
import storage
from wire import Refusal, compact, invalid, note, parse_object, time_text, written

MIB = 1024 * 1024
MAX_BYTES = {"/bind": 4096, "/v1/exchange": 1024, "/v1/proxy": 8 * MIB}  # of a body; 1 MiB elsewhere (TRN-19)
# Defects of bodies, which the parser of headers misses in each multipart/form-data, since it is not shown the body.
OF_BODIES = (
    errors.NoBoundaryInMultipartDefect, errors.StartBoundaryNotFoundDefect, errors.CloseBoundaryNotFoundDefect,
    errors.MultipartInvariantViolationDefect, errors.InvalidMultipartContentTransferEncodingDefect,
)


class Request:
    def __init__(self, method: str, target: str, headers: list, settings, client):
        path, mark, query = target.partition("?")
        prefix = settings.prefix
        # What stands in front may have stripped the prefix; the signature is over the path with it (SIG-16).
        self.endpoint = path[len(prefix) :] if prefix and path.startswith(prefix + "/") else path
        self.method, self.query, self.headers = method, query if mark else None, headers
        self.settings, self.client, self.body = settings, client, b""
        self.max_bytes = MAX_BYTES.get(self.endpoint, MIB)
        self.covered = []  # names of the fields that a verified signature covers
        self.receive = None  # reads the body; called by whoever has looked at the head (SIG-61, TIX-44)

    def values(self, name: str) -> list:
        """All values of a header, in lower case, each with spaces and tabs removed at both ends (SIG-19)."""
        return [value for each, value in self.headers if each == name]

    def json(self) -> dict:
        """The body, if any; `{}` without one (TRN-02, TRN-17)."""
        if not self.body:
            return {}
        types = self.values("content-type")
        if len(types) != 1 or types[0].split(";")[0].strip().lower() != "application/json":
            raise invalid("the body is not application/json")
        return parse_object(self.body)

    def parameters(self, name: str) -> list:
        try:
            return [value for each, value in parse_qsl(self.query or "", keep_blank_values=True) if each == name]
        except ValueError:
            raise invalid("the query cannot be read") from None

    def bearer(self) -> str | None:
        found = self.values("authorization")
        scheme, _, ticket = found[0].partition(" ") if len(found) == 1 else ("", "", "")
        return ticket.strip() if scheme.lower() == "bearer" else None


def signed(act):
    """An endpoint that only the service may use."""

    def guarded(request, state, settings):
        request.covered = signatures.authenticate(request, state).covered
        return act(request, state, settings)

    return guarded


def open_health(request, state, settings):
    return 200, {}, {"status": "ok"}  # HEA-01, HEA-02


def health(request, state, settings):
    request.json()
    return 200, {}, {
        "status": "ok", "protocol": "v1", "version": settings.version, "webhookId": state.setting("webhook_id"),
        "capabilities": settings.capabilities, "time": written(time_text(time.time())),
    }


def preflight(request, state, settings):
    """From any other origin it was refused before (SAV-21, SAV-23)."""
    allow = {"Access-Control-Allow-Methods": "POST", "Access-Control-Allow-Headers": "authorization, content-type"}
    return 204, allow, b""


ENDPOINTS = {
    "/bind": {"GET": binding.show_page, "POST": binding.post_page},
    "/v1/exchange": {"POST": binding.exchange},
    "/v1/health": {"GET": open_health, "POST": signed(health)},
    "/v1/storage": {"POST": signed(storage.storage)},
    "/v1/credential": {"GET": records.credential},
    "/v1/store": {"POST": records.store, "OPTIONS": preflight},
    "/v1/proxy": {"POST": signed(proxy.proxy)},
    "/v1/refresh-notify": {"POST": signed(refresh.notify)},
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 60  # between two bytes of a request
    state = settings = None  # set by `serve`

    def __getattr__(self, name: str):
        if name.startswith("do_"):  # every method comes here, so that 405 is ours to say (TRN-31)
            return self.handle_request
        raise AttributeError(name)

    def handle_expect_100(self) -> bool:
        """Not yet: who waits to be asked for the body gets it asked for in `body_pieces`."""
        return True

    def handle_request(self) -> None:
        request, always, self.is_read = None, [], True
        try:
            request = self.read_head()
            always = self.always(request)
            self.prepare_body(request)
            status, headers, body = self.route(request)
        except Refusal as refusal:
            status, headers, body = refusal.status, refusal.headers, refusal.body
        except OSError:  # the other side is gone, or sends nothing any more
            self.close_connection = True
            return
        except Exception as error:  # its text could hold a secret: its place has to do for the log
            where = traceback.extract_tb(error.__traceback__)[-1]
            note(f"{type(error).__name__} at {where.filename}:{where.lineno}")
            status, headers, body = 500, {}, {"error": "something went wrong here", "code": "INTERNAL"}
        pairs = list(headers.items()) if isinstance(headers, dict) else headers
        if isinstance(body, dict):
            body = compact(body).encode()
            pairs.append(("Content-Type", "application/json"))
        self.close_connection |= not self.is_read  # the rest would be taken for the next request
        self.send_answer(status, always + pairs if isinstance(body, bytes) else pairs, body)
        if not self.is_read:
            self.drop_rest()

    def route(self, request: Request):
        methods = ENDPOINTS.get(request.endpoint)
        if methods is None:
            raise Refusal("NOT_FOUND", "there is nothing here")
        if request.endpoint == "/v1/store" and request.values("origin") not in ([], [self.settings.origin]):
            raise Refusal("ORIGIN_NOT_ALLOWED", "not from this page")  # before the ticket is looked at (SAV-23, SAV-24)
        if not request.values("origin"):  # OPTIONS is a preflight or nothing (SAV-48)
            methods = {name: answer for name, answer in methods.items() if name != "OPTIONS"}
        if request.method not in methods:
            raise Refusal("METHOD_NOT_ALLOWED", "not with this method", Allow=", ".join(methods))
        return methods[request.method](request, self.state, self.settings)

    def always(self, request: Request) -> list:
        """Headers of every answer of an endpoint, refusals included."""
        if request.endpoint == "/v1/credential":
            return [("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer")]  # CRE-01 to CRE-03
        if request.endpoint == "/v1/store" and request.values("origin") == [self.settings.origin]:
            return [("Access-Control-Allow-Origin", self.settings.origin), ("Vary", "Origin")]  # SAV-22
        return [("sv-proxy-origin", "webhook")] if request.endpoint == "/v1/proxy" else []  # PRX-28

    def read_head(self) -> Request:
        # Not self.path, which newer Pythons clean up: what is signed is the target as it was sent (SIG-15).
        target = self.requestline.split()[1]
        if target.lower().startswith(("http://", "https://")):  # absolute form (RFC 9112 section 3.2.2)
            target = "/" + target.split("://", 1)[1].partition("/")[2]
        headers = [(name.lower(), value.strip(" \t")) for name, value in self.headers.items()]
        request = Request(self.command, target, headers, self.settings, self.connection)
        defects = [each for each in self.headers.defects if not isinstance(each, OF_BODIES)]
        if defects or any("\n" in value or "\r" in value for _, value in headers):
            self.close_connection = True
            raise invalid("the headers cannot be read")
        return request

    def prepare_body(self, request: Request) -> None:
        """The declared size comes first of all (SIG-57, TRN-19); no byte of the body is read yet."""
        lengths = request.values("content-length")
        self.is_read = not request.values("transfer-encoding") and lengths in ([], ["0"])
        request.receive = lambda: self.read_body(request)
        if len(lengths) == 1 and self.number(lengths[0].encode("latin-1"), 10) > request.max_bytes:
            raise Refusal("TOO_LARGE", f"more than {request.max_bytes} bytes")

    def read_body(self, request: Request) -> None:
        if self.is_read:
            return
        body, size = [], 0
        for piece in self.body_pieces(request):
            body.append(piece)
            size += len(piece)
            if size > request.max_bytes:
                raise Refusal("TOO_LARGE", f"more than {request.max_bytes} bytes")
        request.body, self.is_read = b"".join(body), True

    def drop_rest(self) -> None:
        """For a moment: to close while the other side writes would lose the answer on its way (RFC 9112 section 9.6)."""
        try:
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(1)
            until = time.monotonic() + 1
            while time.monotonic() < until and self.connection.recv(65536):
                pass
        except OSError:
            pass

    def body_pieces(self, request: Request):
        coding, lengths = request.values("transfer-encoding"), request.values("content-length")
        if [each.lower() for each in request.values("expect")] == ["100-continue"]:
            self.send_response_only(100)
            self.end_headers()
        if coding:
            if lengths or [each.lower() for each in coding] != ["chunked"]:
                self.close_connection = True
                raise invalid("this transfer coding is not read here")
            while True:
                left = self.number(self.rfile.readline(1024).split(b";")[0].strip(), 16)
                if left == 0:
                    break
                yield from self.exactly(left)
                self.rfile.readline(1024)
            while self.rfile.readline(65537) not in (b"\r\n", b"\n", b""):
                pass  # trailers
        elif lengths:
            yield from self.exactly(self.number(lengths[0].encode("latin-1") if len(lengths) == 1 else b"", 10))

    def number(self, digits: bytes, base: int) -> int:
        if not re.fullmatch(rb"[0-9]{1,15}" if base == 10 else rb"[0-9a-fA-F]{1,12}", digits):
            self.close_connection = True
            raise invalid("the length of the body cannot be read")
        return int(digits, base)

    def exactly(self, left: int):
        while left > 0:
            piece = self.rfile.read(min(left, 65536))
            if not piece:
                raise ConnectionError
            left -= len(piece)
            yield piece

    def send_answer(self, status: int, headers: list, body) -> None:
        self.log_message("%s %s %d", self.command, self.requestline.split()[1].partition("?")[0][:200], status)
        names = {name.lower() for name, _ in headers}
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        if "date" not in names:
            self.send_header("Date", self.date_time_string())
        streamed, bodiless = not isinstance(body, bytes), status in (204, 304)
        if not streamed and not bodiless:
            self.send_header("Content-Length", str(len(body)))
        chunked = streamed and not bodiless and "content-length" not in names and self.request_version == "HTTP/1.1"
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        elif streamed and "content-length" not in names and not bodiless:
            self.close_connection = True  # HTTP/1.0: the end of the connection is the end of the body
        if self.close_connection:
            self.send_header("Connection", "close")
        try:
            self.end_headers()
            for piece in body if streamed else [body]:
                if piece and self.command != "HEAD" and not bodiless:
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
            if chunked:
                self.wfile.write(b"0\r\n\r\n")
        except Exception:  # the service is gone, or the upstream broke off: then no end is written either (PRX-36)
            self.close_connection = True
        finally:
            if streamed:
                body.close()

    def send_error(self, code, message=None, explain=None):
        """What http.server refuses by itself, such as a line that is no request, in the form of TRN-33."""
        self.close_connection = True
        self.request_version = "HTTP/1.1"
        body = json.dumps({"error": "this is no request that can be read", "code": "INVALID_REQUEST"}).encode()
        self.send_response_only(400)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *values):
        """Never a query: tickets travel there. Nor a header (CRE-06)."""
        note(format % values)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def serve(state, settings) -> None:
    handler = type("BoundHandler", (Handler,), {"state": state, "settings": settings})
    with Server(settings.listen, handler) as server:
        server.serve_forever()
