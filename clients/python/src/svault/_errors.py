"""What a caller may have to tell apart. No message holds a key, a ticket or a credential."""

from __future__ import annotations

from typing import Any, Optional

#: Statuses that the same request may get past a little later.
_TEMPORARY = (409, 429, 500, 502, 503, 504)

_SEALED_REASONS = {
    "no_key": "the client has no sealing_key",
    "no_library": "sealing keys need cryptography: pip install cryptography",
    "not_sealed": "the delivery is not sealed, and require_sealed is set",
    "too_large": "it is too large",
    "malformed": "it is malformed",
    "algorithm": "it is not encrypted by ECDH-ES and A256GCM",
    "other_key": "it is sealed for another key",
    "not_decryptable": "it was changed on the way",
    "not_a_credential": "its content is not a credential",
}


class SvaultError(Exception):
    """Base of all errors of this package. They survive ``pickle`` and ``copy``."""

    #: Whether the same call may succeed later, with no change by the owner or in the program.
    is_retryable: bool = False

    def __reduce__(self) -> "tuple[Any, ...]":
        # Exception's own would call the class with the finished message alone.
        return _restored, (type(self), self.args), self.__dict__


class UsageError(SvaultError, ValueError):
    """The program or its environment gave the client something that it cannot use: an address, a key, a name."""


class ApiError(SvaultError):
    """The control plane or the webhook denied the request. ``svault explain CODE`` documents each ``code``."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 403,
        code: str = "POLICY_DENIED",
        host: str = "svault",
        request_id: Optional[str] = None,
        retry_after: Optional[int] = None,
        policy: Optional[str] = None,
        rule: Optional[str] = None,
    ) -> None:
        particulars = [
            code,
            *([] if retry_after is None else [f"retry after {retry_after} s"]),
            *([] if request_id is None else [f"request {request_id}"]),
        ]
        super().__init__(f"{host}: {message} ({', '.join(particulars)})")
        self.status = status
        self.code = code
        self.host = host
        #: To find the request in the log of the control plane or the webhook.
        self.request_id = request_id
        #: Seconds after which the same request may be answered otherwise.
        self.retry_after = retry_after
        #: The policy that denied it, and the type of its rule.
        self.policy = policy
        self.rule = rule
        # An owner binds a webhook; time does not.
        self.is_retryable = status in _TEMPORARY and code != "WEBHOOK_NOT_CONFIGURED"


class RateLimited(ApiError):
    """429: a limit or a ``rate_limit`` rule, for longer than the client waits."""


class ConnectionFailed(SvaultError):
    """No whole answer came in time. Retryable unless the certificate does not verify."""

    def __init__(self, message: str, *, is_retryable: bool = True) -> None:
        super().__init__(message)
        self.is_retryable = is_retryable


class UnexpectedAnswer(SvaultError):
    """Not an svault response, one that is too large, or one that leads to an address that is not allowed."""

    def __init__(self, message: str, *, status: Optional[int] = None) -> None:
        super().__init__(message)
        #: Of the answer; ``None`` if the answer was svault's and its address was not allowed.
        self.status = status
        # A reverse proxy answers so while the server behind it restarts.
        self.is_retryable = status in _TEMPORARY


class SealedError(SvaultError):
    """A sealed credential could not be opened.

    ``reason`` is ``no_key``, ``no_library``, ``not_sealed``, ``too_large``, ``malformed``, ``algorithm``,
    ``other_key``, ``not_decryptable`` or ``not_a_credential``.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"cannot open the credential: {_SEALED_REASONS.get(reason, reason)} ({reason})")
        self.reason = reason


def _restored(kind: "type[SvaultError]", args: "tuple[Any, ...]") -> SvaultError:
    return kind.__new__(kind, *args)
