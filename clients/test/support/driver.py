"""Runs calls of the packed client and prints what came of each. Pauses are recorded and not waited for."""

import json
import logging
import sys
import time
import traceback
from dataclasses import asdict, is_dataclass
from datetime import datetime

pauses = []
waits = []
time.sleep = pauses.append
import svault  # noqa: E402


class Waits(logging.Handler):
    def emit(self, record):
        host, seconds, code = record.args
        assert record.getMessage() == f"{host}: waiting {seconds:g} s ({code})"
        waits.append(f"{code}: {seconds:g} s")


logging.getLogger("svault").addHandler(Waits())
logging.getLogger("svault").setLevel(logging.INFO)


def plain(value):
    """As JSON of the other client: dates in its form, names in its case, nothing for what is not there."""
    if is_dataclass(value):
        return plain({"".join([w if i == 0 else w.title() for i, w in enumerate(n.split("_"))]): v for n, v in asdict(value).items()})
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value


def outcome_of(call, options=None, **rest):
    if call == "create_sealing_key":
        key = svault.create_sealing_key(rest["curve"])
        return {"result": {"key": key, "public": svault.public_jwk(key)}}
    if call == "mcp_proxy":
        endpoint = svault.mcp_proxy(rest["key"])
        return {"result": plain(endpoint), "shown": repr(endpoint)}
    client = svault.Client(**(options or {}))
    result = getattr(client, call)(**rest)
    return {"result": plain(result), "shown": f"{client!r} {result!r}"}


outcomes = []
for each in json.loads(sys.argv[1]):
    pauses.clear()
    waits.clear()
    try:
        outcome = outcome_of(**each)
    except svault.SvaultError as error:
        members = {
            "code": "code",
            "status": "status",
            "request_id": "requestId",
            "retry_after": "retryAfter",
            "policy": "policy",
            "rule": "rule",
            "is_retryable": "isRetryable",
            "reason": "reason",
        }
        said = {name: getattr(error, member, None) for member, name in members.items()}
        outcome = {
            "error": plain({"name": type(error).__name__, "message": str(error), **said}),
            "shown": traceback.format_exc(),
        }
    outcomes.append({**outcome, "pauses": list(pauses), "waits": list(waits)})
print(json.dumps(outcomes))
