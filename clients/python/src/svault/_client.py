"""The client: a ticket from the control plane, then the credential from the webhook."""

from __future__ import annotations

import logging
import os
import re
import time
from dataclasses import dataclass, field
from typing import Callable, Dict, List, Mapping, Optional, TypeVar, Union
from urllib.parse import quote

from ._address import Address, base_address, safe_address
from ._credential import Credential, Grant, credential_in, grant_in
from ._errors import ApiError, RateLimited, SealedError, UnexpectedAnswer, UsageError
from ._http import Answer, get
from ._sealed import SealingKey

_T = TypeVar("_T")
_KEY_FORM = re.compile(r"[!-~]{1,200}")
_CODE_FORM = re.compile(r"[A-Z][A-Z0-9_]{2,63}")
_ID_FORM = re.compile(r"[\w.:-]{1,100}")
_MAX_MESSAGE = 1_000
_TRIES = 4
#: The least pause before another try, in seconds, if ``Retry-After`` is 0.
_MIN_PAUSE = 0.25
_MAX_SECONDS = 86_400.0
_log = logging.getLogger("svault")


@dataclass(frozen=True)
class Endpoint:
    """What an MCP client is configured with. The headers hold a key, so ``repr`` does not show them."""

    url: str
    headers: Dict[str, str] = field(repr=False)


class Client:
    """Fetches credentials as one agent. Threads may share it; it keeps no connection and no credential.

    :param base_url: of the control plane; ``SVAULT_BASE_URL`` if omitted
    :param key: the agent's, ``svagent_…``; ``SVAULT_KEY`` if omitted. White space around it is dropped
    :param webhook_url: credentials come from this webhook alone; ``SVAULT_WEBHOOK_URL`` if omitted,
        and without either from the one that the control plane names
    :param sealing_key: a private JWK, for sealed credentials (``pip install cryptography``)
    :param require_sealed: refuse a credential that is not sealed
    :param timeout: seconds for each request
    :param max_wait: seconds that one call may wait on ``Retry-After``, all tries together; 0: never
    :raises UsageError: for an address that is neither https nor on this machine, and for what is no key
    """

    def __init__(
        self,
        base_url: Optional[str] = None,
        key: Optional[str] = None,
        *,
        webhook_url: Optional[str] = None,
        sealing_key: Union[str, Mapping[str, str], None] = None,
        require_sealed: bool = False,
        timeout: float = 60.0,
        max_wait: float = 65.0,
    ) -> None:
        self._base_url, self._base = _base(base_url)
        self._authorization = f"Bearer {_key(key or os.environ.get('SVAULT_KEY', ''), 'it, or set SVAULT_KEY')}"
        pinned = webhook_url or os.environ.get("SVAULT_WEBHOOK_URL")
        self._webhook = base_address(pinned, "webhook_url") if pinned else None
        self._sealing_key = SealingKey(sealing_key) if sealing_key else None
        if require_sealed and self._sealing_key is None:
            raise UsageError("require_sealed needs a sealing_key")
        self._require_sealed = require_sealed
        if not 0 < timeout <= _MAX_SECONDS:
            raise UsageError(f"timeout has to be more than 0 and at most {_MAX_SECONDS:g} seconds")
        if not 0 <= max_wait <= _MAX_SECONDS:
            raise UsageError(f"max_wait has to be between 0 and {_MAX_SECONDS:g} seconds")
        self._timeout = timeout
        self._max_wait = max_wait

    def __repr__(self) -> str:
        return f"Client({self._base_url!r})"

    def get(self, service: str) -> Credential:
        """Fetches the credential of a service, and opens it if it is sealed.

        Each call is an entry of the owner's log and counts towards limits: keep the credential until its
        ``expiry_time``, and one without until its service answers 401.

        One call takes at most four tries of two requests, and ``max_wait``: 545 seconds by default.

        :raises ApiError: a denial, with its ``code``
        :raises RateLimited: ``Retry-After`` is longer than ``max_wait``
        :raises ConnectionFailed: no whole answer in time; whether the access was recorded is not known
        :raises UnexpectedAnswer: not an svault response
        :raises SealedError: a sealed credential that this client cannot open
        :raises UsageError: ``service`` is empty or no text
        """
        if not isinstance(service, str) or not service:
            raise UsageError("service has to be the name of a service")
        return self._with_retries(lambda: self._get_once(service))

    def grants(self) -> List[Grant]:
        """The services that the agent may ask for. Raises as :meth:`get` does.

        A call counts towards limits as one of :meth:`get` does, and is no entry of the owner's log.
        """
        answer = self._with_retries(lambda: self._ask(""))
        grants = answer.json().get("grants")
        try:
            if not isinstance(grants, list):
                raise ValueError
            return [grant_in(each) for each in grants]
        except ValueError:
            raise _not_svault(self._base, answer) from None

    def mcp(self) -> Endpoint:
        """The MCP endpoint of the control plane, for this agent."""
        return Endpoint(f"{self._base_url}/api/agents/mcp", {"Authorization": self._authorization})

    def _get_once(self, service: str) -> Credential:
        # A ticket works once, so a new try takes both steps.
        answer = self._ask(f"service={quote(service, safe='')}&redirect=false")
        url = answer.json().get("url")
        if not isinstance(url, str):
            raise _not_svault(self._base, answer)
        webhook = self._webhook_address(url)
        # Without the key: it is of the control plane alone.
        delivered = get(webhook, {"Accept": "application/json, application/jose"}, self._timeout)
        if delivered.status != 200:
            raise _refusal(delivered, webhook)
        credential = self._opened(delivered, webhook)
        if credential.service_name != service:
            raise UnexpectedAnswer(f"{webhook.host} delivered the credential of another service")
        return credential

    def _ask(self, query: str) -> Answer:
        address = self._base._replace(path=f"{self._base.path}/api/agents/credentials", query=query)
        headers = {"Accept": "application/json", "Authorization": self._authorization}
        answer = get(address, headers, self._timeout)
        if answer.status != 200:
            raise _refusal(answer, address)
        return answer

    def _webhook_address(self, url: str) -> Address:
        try:
            address = safe_address(url)
        except ValueError as error:
            raise UnexpectedAnswer(
                f"{self._base.host} leads to an address that {error}; it is not opened"
            ) from None
        pinned = self._webhook
        if pinned is not None and (
            address.origin != pinned.origin or address.path != f"{pinned.path}/v1/credential"
        ):
            raise UnexpectedAnswer(
                f"{self._base.host} leads to {address.host} instead of {pinned.host}; it is not opened"
            )
        return address

    def _opened(self, answer: Answer, webhook: Address) -> Credential:
        content_type = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        sealed = content_type == "application/jose"
        if sealed:
            if self._sealing_key is None:
                raise SealedError("no_key")
            answer = answer._replace(body=self._sealing_key.open(answer.body.decode("latin-1").strip()))
        elif self._require_sealed:
            raise SealedError("not_sealed")
        try:
            return credential_in(answer.json())
        except ValueError:
            if sealed:
                raise SealedError("not_a_credential") from None
            raise _not_svault(webhook, answer) from None

    def _with_retries(self, once: Callable[[], _T]) -> _T:
        left = self._max_wait
        for tries in range(_TRIES, 0, -1):
            try:
                return once()
            except ApiError as error:
                pause = max(error.retry_after or 0, _MIN_PAUSE)
                final = error.retry_after is None or not error.is_retryable
                if final or tries == 1 or pause > left:
                    raise
                _log.info("%s: waiting %g s (%s)", error.host, pause, error.code)
            time.sleep(pause)
            left -= pause
        raise AssertionError("unreachable")


def mcp_proxy(key: str, base_url: Optional[str] = None) -> Endpoint:
    """The endpoint of an MCP proxy, for any MCP client.

    :param key: the proxy's, ``mcp_…``
    :param base_url: of the control plane; ``SVAULT_BASE_URL`` if omitted
    :raises UsageError: as :class:`Client` does
    """
    url, _ = _base(base_url)
    return Endpoint(f"{url}/api/proxy/mcp", {"Authorization": f"Bearer {_key(key, 'the key of the proxy, mcp_…')}"})


def _base(base_url: Optional[str]) -> "tuple[str, Address]":
    text = base_url or os.environ.get("SVAULT_BASE_URL", "")
    if not text:
        raise UsageError("base_url is missing: give the address of the control plane, or set SVAULT_BASE_URL")
    return text.rstrip("/"), base_address(text, "base_url")


def _key(text: str, source: str) -> str:
    # A file that a key was read from often ends with a line break.
    text = text.strip()
    if not _KEY_FORM.fullmatch(text):
        raise UsageError(f"key is missing or malformed: give {source}")
    if text.startswith("svadmin_"):
        raise UsageError("key is an admin key (svadmin_…); give the agent's own, svagent_…")
    return text


def _refusal(answer: Answer, address: Address) -> Exception:
    body = answer.json()
    message, code, policy, rule = (body.get(name) for name in ("error", "code", "policy", "rule"))
    if answer.status < 400 or not (isinstance(message, str) and isinstance(code, str)):
        return _not_svault(address, answer)
    if not _CODE_FORM.fullmatch(code):
        return _not_svault(address, answer)
    request_id = body.get("requestId") or answer.headers.get("x-request-id")
    seconds = answer.headers.get("retry-after", "")
    return (RateLimited if answer.status == 429 else ApiError)(
        _plain(message),
        status=answer.status,
        code=code,
        host=address.host,
        request_id=request_id if isinstance(request_id, str) and _ID_FORM.fullmatch(request_id) else None,
        retry_after=int(seconds) if re.fullmatch(r"[0-9]{1,9}", seconds) else None,
        policy=_plain(policy) if isinstance(policy, str) else None,
        rule=_plain(rule) if isinstance(rule, str) else None,
    )


def _plain(text: str) -> str:
    """Without control characters, which a terminal would obey."""
    return "".join(each if each.isprintable() else " " for each in text[:_MAX_MESSAGE])


def _not_svault(address: Address, answer: Answer) -> UnexpectedAnswer:
    return UnexpectedAnswer(
        f"the {answer.status} of {address.host} is not an svault response; is the address right?",
        status=answer.status,
    )
