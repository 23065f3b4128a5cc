"""Refreshing tokens at their provider (section 7). The provider is what was sealed with the token, nothing else."""

from __future__ import annotations

import base64
import json
import time
from urllib.parse import quote_plus, urlencode

import outgoing
from state import log, next_version
from wire import Refusal, compact, member, service_name, time_text, written

CALL_SECONDS = 7  # of the 8 that TRN-25 allows
WAIT_SECONDS = 9  # a service waits for 10


def notify(request, state, settings):
    """/v1/refresh-notify, answered when it is done (REF-01, REF-25)."""
    body = request.json()
    name = service_name(body)
    if member(body, "reason", str) not in ("expiring", "expired", "manual"):
        raise Refusal("INVALID_REQUEST", "no such reason")
    # tokenUrl and clientId of a notice are hints for logs; this webhook does not even look at them (REF-02, REF-03).
    record = state.one("SELECT * FROM record WHERE name = ?", name)
    if record is None:
        raise Refusal("NOT_FOUND", "there is no such record")  # REF-26
    sealed = json.loads(record["settings"])
    if record["reauth"]:
        raise Refusal("REAUTH_NEEDED", "the token has to be stored anew")  # REF-27
    if "provider" not in sealed or not sealed["hasRefreshToken"]:
        return 200, {}, {"outcome": "not_refreshable"}
    if sealed["provider"]["mediated"]:
        raise Refusal("REFRESH_NEEDED", "only the service can have this token refreshed")  # REF-24
    try:
        record = refresh(state, settings, record)
    except Refusal as refusal:
        if refusal.code in ("PROVIDER_ERROR", "PROVIDER_TIMEOUT", "REAUTH_NEEDED"):
            return 200, {}, {"outcome": "failed"}
        raise
    expiry = {"expiryTime": written(record["expiry"])} if record["expiry"] else {}
    return 200, {}, {"outcome": "refreshed", **expiry}


def refresh(state, settings, record):
    """The record with a new token. Of several who come at once one calls, and the others wait for what it stores."""
    name, ends = record["name"], time.monotonic() + WAIT_SECONDS
    while not _claim(state, record):
        if time.monotonic() > ends - 1:
            raise Refusal("PROVIDER_TIMEOUT", "the provider takes too long")
        time.sleep(0.05)
        now = state.one("SELECT * FROM record WHERE name = ?", name)
        if now is None or now["version"] != record["version"]:
            return _successor(now, record)
    try:
        answer = _ask(json.loads(record["settings"]), json.loads(record["secret"]), settings, ends - time.monotonic())
    except BaseException as error:
        reauth = isinstance(error, Refusal) and error.code == "REAUTH_NEEDED"
        with state.transaction() as db:
            db.execute(
                "UPDATE record SET spent_until = 0, reauth = ? WHERE name = ? AND version = ?",
                [reauth, name, record["version"]],
            )
            log(db, "token.refreshed", getattr(error, "code", "INTERNAL"), name)
        raise
    return _commit(state, record, answer)


def _claim(state, record) -> bool:
    """Marks, durably and before the call, that the refresh token may be spent (REF-17); false where another has it.

    A mark that is older than any call was left by a killed process: the stored token is tried once more (REF-19).
    """
    name, now = record["name"], time.time()
    with state.transaction() as db:
        found = db.execute(
            "SELECT reauth, spent_until FROM record WHERE name = ? AND version = ?", [name, record["version"]]
        ).fetchone()
        if found is None or found["spent_until"] > now:
            return False
        if found["reauth"]:
            raise Refusal("REAUTH_NEEDED", "the token has to be stored anew")  # REF-21
        calls, oldest = db.execute(
            "SELECT count(*), min(at) FROM attempt WHERE what = ? AND at > ?", ["refresh " + name, now - 3600]
        ).fetchone()
        if calls >= 10:  # REF-04
            wait = str(int(oldest + 3600 - now) + 1)
            raise Refusal("RATE_LIMITED", "the token was refreshed too often", Retry_After=wait)
        db.execute("INSERT INTO attempt VALUES (?, ?)", ["refresh " + name, now])
        db.execute("UPDATE record SET spent_until = ? WHERE name = ?", [now + WAIT_SECONDS + 1, name])
    return True


def _ask(sealed: dict, secret: dict, settings, seconds: float) -> dict:
    """RFC 6749 section 6. Nothing of what the provider says goes into an answer or a log."""
    provider = sealed["provider"]
    form = {"grant_type": "refresh_token", "refresh_token": secret["refreshToken"]}
    if sealed.get("scope"):
        form["scope"] = sealed["scope"]
    headers = [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")]
    if provider["authMethod"] == "client_secret_basic":  # RFC 6749 section 2.3.1: encoded before they are joined
        pair = f"{quote_plus(provider['clientId'])}:{quote_plus(secret['clientSecret'])}"
        headers.append(("Authorization", "Basic " + base64.b64encode(pair.encode()).decode()))
    else:
        form["client_id"] = provider["clientId"]
    if provider["authMethod"] == "client_secret_post":
        form["client_secret"] = secret["clientSecret"]
    call = outgoing.Call(provider["tokenUrl"], settings.allowed, min(CALL_SECONDS, seconds))
    try:
        with call:
            call.resolve()
            response = call.send("POST", headers, urlencode(form).encode())
            answer = json.loads(response.read(1024 * 1024))
    except Exception as error:  # no answer, no JSON, too much of it, an address that is refused
        if call.late or getattr(error, "late", False):
            raise Refusal("PROVIDER_TIMEOUT", "the provider did not answer in time") from None
        raise Refusal("PROVIDER_ERROR", "the provider answered nothing usable") from None
    answer = answer if isinstance(answer, dict) else {}
    if response.status in (400, 401) and answer.get("error") == "invalid_grant":
        raise Refusal("REAUTH_NEEDED", "the provider does not take the refresh token any more")  # REF-20
    token, next_token = answer.get("access_token"), answer.get("refresh_token")
    usable = isinstance(token, str) and token != "" and isinstance(next_token, (str, type(None)))
    if response.status != 200 or not usable:
        raise Refusal("PROVIDER_ERROR", "the provider answered nothing usable")
    return answer


def _commit(state, record, answer: dict):
    """Stores the pair in one transaction, before anybody sees it (REF-13, REF-18); the old pair is gone (REF-31)."""
    name, secret = record["name"], json.loads(record["secret"])
    secret["accessToken"] = answer["access_token"]
    secret["refreshToken"] = answer.get("refresh_token") or secret["refreshToken"]
    try:
        expiry = time_text(time.time() + float(answer["expires_in"]))
    except (KeyError, TypeError, ValueError, OverflowError):
        expiry = None
    with state.transaction() as db:
        found = db.execute("SELECT * FROM record WHERE name = ?", [name]).fetchone()
        if found is None or found["version"] != record["version"]:
            return _successor(found, record)  # stored anew meanwhile: what the provider answered is for nobody
        db.execute(
            "UPDATE record SET version = ?, updated = ?, expiry = ?, secret = ?, spent_until = 0 WHERE name = ?",
            [next_version(db, "record", name), time_text(time.time()), expiry, compact(secret), name],
        )
        log(db, "token.refreshed", "success", name)
        return db.execute("SELECT * FROM record WHERE name = ?", [name]).fetchone()


def _successor(found, record):
    """What those get who waited while another version was stored (REF-33)."""
    if found is None or found["settings"] != record["settings"]:
        raise Refusal("VERSION_CONFLICT", "the record was replaced meanwhile")
    return found
