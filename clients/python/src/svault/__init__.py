"""Client of svault for agents: fetches credentials from their owner's webhook."""

from ._client import Client, Endpoint, mcp_proxy
from ._credential import Credential, Grant
from ._errors import (
    ApiError,
    ConnectionFailed,
    RateLimited,
    SealedError,
    SvaultError,
    UnexpectedAnswer,
    UsageError,
)
from ._sealed import create_sealing_key, public_jwk

__version__ = "0.1.0"

__all__ = [
    "ApiError",
    "Client",
    "ConnectionFailed",
    "Credential",
    "Endpoint",
    "Grant",
    "RateLimited",
    "SealedError",
    "SvaultError",
    "UnexpectedAnswer",
    "UsageError",
    "create_sealing_key",
    "mcp_proxy",
    "public_jwk",
]
