"""GET requests that follow no redirect, and whose answers are bounded in size and time."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
from base64 import b64encode
from typing import Dict, List, Mapping, NamedTuple, Optional
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from ._address import Address
from ._errors import ConnectionFailed, SvaultError, UnexpectedAnswer

#: More than the largest sealed credential: four secret fields of 64 KiB, escaped and in base64url.
MAX_ANSWER_BYTES = 4 * 1024 * 1024


class Answer(NamedTuple):
    status: int
    #: By their names in lower case.
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Dict[str, object]:
        """The body as a JSON object, ``{}`` for anything else."""
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}


def get(address: Address, headers: Mapping[str, str], timeout: float) -> Answer:
    """Sends one request and reads its answer whole.

    :param timeout: seconds for everything, from the look-up of the name to the last byte
    :raises ConnectionFailed: where no whole answer comes in time
    :raises UnexpectedAnswer: where it is too large
    """
    connection = _connection(address, timeout)
    outcome: List[object] = []
    sockets: List[socket.socket] = []

    def exchange() -> None:
        try:
            connection.connect()
            # http.client forgets it once the head of the answer is read.
            sockets.append(connection.sock)
            outcome.append(_exchange(connection, address, headers))
        except BaseException as error:  # Raised again in the thread of the caller.
            outcome.append(error)
        finally:
            connection.close()

    # A socket's own timeout bounds each read alone, and none bounds the look-up of a name.
    thread = threading.Thread(target=exchange, daemon=True)
    thread.start()
    thread.join(timeout)
    # The socket's timeout, of the same length, can end first; that of the kernel has an errno.
    if not outcome or (isinstance(outcome[0], socket.timeout) and outcome[0].errno is None):
        for each in sockets:
            _end(each)
        raise ConnectionFailed(f"{address.host} did not answer within {timeout:g} seconds")
    result = outcome[0]
    if isinstance(result, Answer):
        return result
    if isinstance(result, (OSError, http.client.HTTPException)):
        # Without its cause, which can hold a piece of the answer.
        raise ConnectionFailed(
            f"{address.host} cannot be reached: {_reason(result)}",
            is_retryable=not isinstance(result, ssl.SSLCertVerificationError),
        ) from None
    assert isinstance(result, BaseException)
    raise result


def _exchange(connection: http.client.HTTPConnection, address: Address, headers: Mapping[str, str]) -> Answer:
    target = f"{address.path or '/'}{'?' + address.query if address.query else ''}"
    connection.request("GET", target, headers={"Connection": "close", "User-Agent": "svault-python", **headers})
    with connection.getresponse() as response:
        body = response.read(MAX_ANSWER_BYTES + 1)
        if len(body) > MAX_ANSWER_BYTES:
            raise UnexpectedAnswer(
                f"the answer of {address.host} has more than {MAX_ANSWER_BYTES} bytes", status=response.status
            )
        if response.length:
            raise http.client.IncompleteRead(b"")
        headers_read = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers_read, body)


def _connection(address: Address, timeout: float) -> http.client.HTTPConnection:
    if address.scheme == "http":
        return http.client.HTTPConnection(address.hostname, address.port, timeout=timeout)
    context = ssl.create_default_context()
    proxy = _proxy_for(address)
    if proxy is None:
        return http.client.HTTPSConnection(address.hostname, address.port, timeout=timeout, context=context)
    connection = http.client.HTTPSConnection(
        proxy.hostname or "", proxy.port, timeout=timeout, context=context
    )
    authorization = {}
    if proxy.username is not None:
        user = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}".encode()
        authorization["Proxy-Authorization"] = f"Basic {b64encode(user).decode()}"
    connection.set_tunnel(address.hostname, address.port or 443, authorization)
    return connection


def _proxy_for(address: Address) -> Optional[SplitResult]:
    """Of ``HTTPS_PROXY``; TLS goes through it from end to end."""
    text = getproxies().get("https")
    if not text or proxy_bypass(address.hostname):
        return None
    return urlsplit(text if "://" in text else f"http://{text}")


def _end(sock: socket.socket) -> None:
    try:
        # Not that of ssl.SSLSocket, which changes what the other thread reads from.
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
    except OSError:
        pass


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate does not verify ({error.verify_message})"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__
