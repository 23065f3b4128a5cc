"""What a caller may have to tell apart. No message holds a key, a ticket or a credential."""

from __future__ import annotations

from typing import Optional


class SvaultError(Exception):
    """Base of all errors of this package."""


class ApiError(SvaultError):
    """The control plane or the webhook denied the request. ``code`` is documented by ``svault explain CODE``."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: str,
        host: str,
        request_id: Optional[str] = None,
        retry_after: Optional[int] = None,
        policy: Optional[str] = None,
    ) -> None:
        super().__init__(f"{host}: {message} ({code}{f', request {request_id}' if request_id else ''})")
        self.status = status
        self.code = code
        self.host = host
        #: To find the request in the log of the control plane or the webhook.
        self.request_id = request_id
        #: Seconds after which the same request may be answered otherwise.
        self.retry_after = retry_after
        #: The policy that denied it.
        self.policy = policy


class RateLimited(ApiError):
    """429: a limit or a ``rate_limit`` rule, for longer than the client waits."""


class ConnectionFailed(SvaultError):
    """No whole answer came in time."""


class UnexpectedAnswer(SvaultError):
    """The answer is none of svault's, leads to an address that is not allowed, or is too large."""


class SealedError(SvaultError):
    """A sealed credential could not be opened. ``reason`` is one of the closed list in the README."""

    def __init__(self, reason: str, message: Optional[str] = None) -> None:
        super().__init__(message or f"the sealed credential was not opened: {reason}")
        self.reason = reason
