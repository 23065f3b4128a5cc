"""Binding and rotation (section 5.1): the page for the owner, the link, and /v1/exchange."""

from __future__ import annotations

import hashlib
import hmac
import html
import secrets
import time
import uuid
from urllib.parse import parse_qs, urlencode

import signatures
from state import log
from wire import Refusal, b64url, invalid, member

CODE_SECONDS = 300


def prepare(state) -> dict:
    """A key that a code may be made for; its hash is what the owner compares (BND-05)."""
    key = {"key_id": "key_" + secrets.token_urlsafe(12), "secret": secrets.token_bytes(32)}
    with state.transaction() as db:
        refuse_if_bound(state)
        db.execute("DELETE FROM invitation WHERE code_hash IS NULL")
        db.execute("INSERT INTO invitation (key_id, secret, used) VALUES (?, ?, 0)", [key["key_id"], key["secret"]])
    return key


def connect(state, settings, key_id: str) -> str:
    """Makes the code, which voids earlier ones and a pending binding; returns the link (BND-06, BND-08, EXC-12)."""
    code = str(uuid.uuid4())
    code_hash = hashlib.sha256(code.encode()).digest()  # BND-07
    with state.transaction() as db:
        refuse_if_bound(state)
        row = db.execute("SELECT secret FROM invitation WHERE key_id = ? AND code_hash IS NULL", [key_id]).fetchone()
        if row is None:
            raise invalid("this page is out of date")
        db.execute("DELETE FROM invitation WHERE key_id != ?", [key_id])
        db.execute("DELETE FROM signing_key")
        db.execute("UPDATE invitation SET code_hash = ?, expires = ?", [code_hash, time.time() + CODE_SECONDS])
    query = {
        "code": code,
        "webhook_url": b64url(settings.public_url.encode()),
        "hmac_hash": hashlib.sha256(row["secret"]).hexdigest(),
    }
    return f"{settings.service_url}/vault/webhook-bind?{urlencode(query)}"


def fingerprint(secret: bytes) -> str:
    digits = hashlib.sha256(secret).hexdigest()
    return " ".join(digits[at : at + 4] for at in range(0, 16, 4))


def refuse_if_bound(state) -> None:
    if state.is_bound():
        raise Refusal("SETUP_REQUIRED", "the webhook is bound; run `unbind` on its machine first")  # BND-10, BND-11


def unbind(state) -> None:
    """Erases all keys at once; only the command line comes here (BND-11)."""
    with state.transaction() as db:
        db.execute("DELETE FROM signing_key")
        db.execute("DELETE FROM invitation")
        log(db, "binding.erased", "success")


# The page. Plain HTML, no script; the set-up token goes from form to form in the body (BND-02).

HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
}
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Connect this webhook</title>
<h1>Connect this webhook</h1><form method="post" action="bind">{form}</form></html>"""
ASK = """<p><label>Set-up token <input type="password" name="setup_token" autocomplete="off"></label>
<button>Continue</button>"""
CONFIRM = """<p>Service: <strong>{service}</strong><p>Fingerprint: <strong>{fingerprint}</strong>
<p>Connect only if the service shows the same fingerprint.
<input type="hidden" name="setup_token" value="{token}"><input type="hidden" name="key" value="{key}">
<button>Connect</button>"""


def show_page(request, state, settings):
    refuse_if_bound(state)
    return 200, HEADERS, PAGE.format(form=ASK).encode()  # BND-01: nothing of the service yet


def post_page(request, state, settings):
    refuse_if_bound(state)
    request.receive()
    form = {name: values[0] for name, values in parse_qs(request.body.decode("utf-8", "replace")).items()}
    token = form.get("setup_token", "")
    if not hmac.compare_digest(token.encode(), settings.setup_token.encode()):  # BND-03
        state.count_attempt("set-up token", 10, 60)  # BND-04; the right one is not counted and always works (BND-12)
        return 403, HEADERS, PAGE.format(form=ASK).encode()  # BND-13
    if "key" in form:
        return 303, {"Location": connect(state, settings, form["key"]), **HEADERS}, b""
    key = prepare(state)
    form = CONFIRM.format(
        service=html.escape(settings.service_url), fingerprint=fingerprint(key["secret"]),
        token=html.escape(token), key=key["key_id"],
    )
    return 200, HEADERS, PAGE.format(form=form).encode()


# The exchange

def exchange(request, state, settings):
    try:
        signed = signatures.read(request)
    except signatures.Wrong as wrong:
        raise signatures.refusal(wrong) from None
    answer = redeem(request, signed, state, settings) if signed.key_id == "bind" else rotate(request, state)
    return 200, {"Cache-Control": "no-store"}, answer


def redeem(request, signed, state, settings) -> dict:
    """The order of EXC-05: the body is read before the MAC, since the key is in it."""
    invitation = state.one("SELECT * FROM invitation WHERE code_hash IS NOT NULL")
    if invitation is None or invitation["expires"] + CODE_SECONDS < time.time():
        refuse_code(state)  # EXC-19, EXC-20: whatever the body says
    request.receive()
    body = request.json()
    code, service = member(body, "code", str), member(body, "service", dict)
    code_hash = hashlib.sha256(code.encode()).digest()
    if not hmac.compare_digest(code_hash, invitation["code_hash"]):
        refuse_code(state)
    try:
        signatures.verify_head(signed, code.encode())  # EXC-03
        signatures.verify_body(request, signed)
    except signatures.Wrong as wrong:
        raise signatures.refusal(wrong) from None
    base_url, _ = member(service, "baseUrl", str), member(service, "vaultId", str)
    webhook_id = "whk_" + secrets.token_urlsafe(12)
    with state.transaction() as db:  # EXC-06
        row = db.execute("SELECT * FROM invitation WHERE code_hash = ?", [code_hash]).fetchone()
        if row is None or row["used"]:
            raise Refusal("CODE_USED", "the code was used")  # EXC-16
        if row["expires"] < time.time():
            raise Refusal("CODE_EXPIRED", "the code is too old")  # EXC-17
        if base_url != settings.service_url:
            raise invalid("the webhook is configured for another service")  # EXC-07, EXC-08
        db.execute("UPDATE invitation SET used = 1, secret = NULL")
        db.execute("INSERT INTO signing_key VALUES (?, ?, 'pending', 0)", [row["key_id"], row["secret"]])
        db.execute("INSERT OR REPLACE INTO setting VALUES ('webhook_id', ?)", [webhook_id])
        log(db, "binding.exchanged", "success")
    return {
        "webhookId": webhook_id, "keyId": row["key_id"], "hmacSecret": b64url(row["secret"]),
        "protocol": "v1", "capabilities": settings.capabilities,
    }


def refuse_code(state) -> None:
    state.count_attempt("code", 30, 60)  # EXC-14; the right code is not counted and always works (EXC-15)
    raise signatures.refusal(signatures.Wrong("not the latest code"))  # EXC-13, EXC-19


def rotate(request, state) -> dict:
    signed = signatures.authenticate(request, state)
    if member(request.json(), "op", str) != "rotate":
        raise invalid("op is not rotate")
    key_id, secret = "key_" + secrets.token_urlsafe(12), secrets.token_bytes(32)
    with state.transaction() as db:
        current = db.execute("SELECT 1 FROM signing_key WHERE id = ? AND stage = 'current'", [signed.key_id]).fetchone()
        if current is None:  # ROT-01: a former key holds, but not for this
            raise signatures.refusal(signatures.Wrong("rotation under a former key"))
        db.execute("DELETE FROM signing_key WHERE stage = 'pending'")  # ROT-06
        db.execute("INSERT INTO signing_key VALUES (?, ?, 'pending', 0)", [key_id, secret])  # ROT-02
        log(db, "key.rotated", "success")
    return {"keyId": key_id, "hmacSecret": b64url(secret)}
