"""Everything that has to outlive the process, in one SQLite file. Several processes may share it.

The standard library cannot encrypt, so secrets stand in this file in the clear, protected by its mode (0600 in a
folder of 0700) and by nothing else. KEP-01 (SHOULD) asks for more: with a library that has authenticated encryption,
encrypt `record.secret` and `signing_key.secret` under a key that is not in this folder, with the record's name,
version and settings as associated data. For the same reason SAV-20 (SHOULD) is not done: nothing replaced is kept.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import threading
import time
from contextlib import contextmanager

from wire import Refusal, compact, time_text, written

SCHEMA = """
CREATE TABLE IF NOT EXISTS setting (name TEXT PRIMARY KEY, value);
CREATE TABLE IF NOT EXISTS signing_key (id TEXT PRIMARY KEY, secret BLOB, stage TEXT, until REAL);
CREATE TABLE IF NOT EXISTS invitation (key_id TEXT PRIMARY KEY, secret BLOB, code_hash BLOB, expires REAL, used INT);
CREATE TABLE IF NOT EXISTS nonce (key_id TEXT, nonce TEXT, until REAL, PRIMARY KEY (key_id, nonce));
CREATE TABLE IF NOT EXISTS used_ticket (jti TEXT PRIMARY KEY, until REAL);
CREATE TABLE IF NOT EXISTS attempt (what TEXT, at REAL);
CREATE TABLE IF NOT EXISTS last_version (kind TEXT, name TEXT, version INT, PRIMARY KEY (kind, name));
CREATE TABLE IF NOT EXISTS record (name TEXT PRIMARY KEY, version INT, created TEXT, updated TEXT, expiry TEXT,
  settings TEXT, secret TEXT, reauth INT DEFAULT 0, spent_until REAL DEFAULT 0);
CREATE TABLE IF NOT EXISTS proxy (id TEXT PRIMARY KEY, version INT, service TEXT, url TEXT, templates TEXT,
  members TEXT);
CREATE TABLE IF NOT EXISTS log (row INTEGER PRIMARY KEY, epoch TEXT, seq INT, hash TEXT, source TEXT, id TEXT,
  agent TEXT, service TEXT, entry TEXT, UNIQUE (source, id));
"""


class State:
    def __init__(self, folder: str):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.chmod(folder, 0o700)
        self._lock = threading.RLock()
        self._db = sqlite3.connect(
            os.path.join(folder, "webhook.db"), isolation_level=None, check_same_thread=False, timeout=10
        )
        self._db.row_factory = sqlite3.Row
        # A claim that was answered has to survive a power cut (SIG-56, TIX-36); a deleted secret leaves no bytes.
        self._db.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=ON;" + SCHEMA)
        with self.transaction() as db:
            epoch = secrets.token_urlsafe(16)
            db.execute("INSERT OR IGNORE INTO setting VALUES ('epoch', ?), ('refused_until', 0)", [epoch])

    @contextmanager
    def transaction(self):
        """Commits at the end, rolls back on an exception. IMMEDIATE: what was read is still so when it is written."""
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def one(self, sql: str, *values):
        with self._lock:
            return self._db.execute(sql, values).fetchone()

    def setting(self, name: str):
        row = self.one("SELECT value FROM setting WHERE name = ?", name)
        return row and row["value"]

    def key(self, key_id: str):
        """A key that holds now: pending, current, or a former one for its last ten minutes (ROT-04, ROT-05)."""
        return self.one(
            "SELECT * FROM signing_key WHERE id = ? AND (stage != 'former' OR until >= ?)", key_id, time.time()
        )

    def is_bound(self) -> bool:
        return self.one("SELECT 1 FROM signing_key WHERE stage = 'current'") is not None

    def claim_nonce(self, key_id: str, nonce: str, until: float) -> bool:
        """Whether this is the first use; the first request under a pending key makes it current (EXC-10, ROT-03)."""
        with self.transaction() as db:
            key = db.execute("SELECT stage FROM signing_key WHERE id = ?", [key_id]).fetchone()
            db.execute("DELETE FROM signing_key WHERE stage = 'former' AND until < ?", [time.time()])
            # A minute more than is needed: the clock of the checks was read before this one.
            db.execute("DELETE FROM nonce WHERE until < ?", [time.time() - 60])
            fresh = db.execute("INSERT OR IGNORE INTO nonce VALUES (?, ?, ?)", [key_id, nonce, until]).rowcount == 1
            if key is None or not fresh:
                return False
            if key["stage"] == "pending":
                over = time.time() + 600  # ROT-04
                db.execute("UPDATE signing_key SET stage = 'former', until = ? WHERE stage = 'current'", [over])
                db.execute("UPDATE signing_key SET stage = 'current' WHERE id = ?", [key_id])
                db.execute("UPDATE invitation SET secret = NULL")
                log(db, "key.current", "success")
            return True

    def claim_ticket(self, jti: str, until: float) -> bool:
        """Whether this is the first use, in this process or another (TIX-32, TIX-35 to TIX-37)."""
        with self.transaction() as db:
            db.execute("DELETE FROM used_ticket WHERE until < ?", [time.time() - 60])
            return db.execute("INSERT OR IGNORE INTO used_ticket VALUES (?, ?)", [jti, until]).rowcount == 1

    def count_attempt(self, what: str, most: int, seconds: int) -> None:
        """Counts one more; refuses with 429 where there were as many already (TRN-24)."""
        now = time.time()
        with self.transaction() as db:
            db.execute("DELETE FROM attempt WHERE what = ? AND at < ?", [what, now - seconds])
            count, oldest = db.execute("SELECT count(*), min(at) FROM attempt WHERE what = ?", [what]).fetchone()
            if count >= most:
                raise Refusal("RATE_LIMITED", "too many tries", Retry_After=str(int(oldest + seconds - now) + 1))
            db.execute("INSERT INTO attempt VALUES (?, ?)", [what, now])


def next_version(db, kind: str, name: str) -> int:
    """Never one that the name had before, deleted records included (STO-13 to STO-15)."""
    db.execute(
        "INSERT INTO last_version VALUES (?, ?, 1) ON CONFLICT (kind, name) DO UPDATE SET version = version + 1",
        [kind, name],
    )
    return db.execute("SELECT version FROM last_version WHERE kind = ? AND name = ?", [kind, name]).fetchone()[0]



def log(db, event_type: str, outcome: str, service: str | None = None, ticket: dict | None = None) -> None:
    """This webhook's own account of what was done with its records (STO-35)."""
    about = {} if ticket is None else {{"a": "agentId", "p": "proxyId", "u": "userId"}[ticket["sub"][0]]: ticket["sub"]}
    if service is not None:
        about["serviceName"] = service
    event = {"id": secrets.token_urlsafe(16), "eventType": event_type, "timestamp": written(time_text(time.time()))}
    append(db, "webhook", {**event, "outcome": outcome, **about})


def append(db, source: str, event: dict) -> None:
    """Adds an entry to the chain, unless its id is known (STO-27, STO-31, STO-32)."""
    if db.execute("SELECT 1 FROM log WHERE source = ? AND id = ?", [source, event["id"]]).fetchone():
        return
    last, entry = head(db), compact(event)
    agent, service = event.get("agentId"), event.get("serviceName")
    chained = hashlib.sha256(compact([last["hash"], source, entry]).encode()).hexdigest()
    db.execute(
        "INSERT INTO log (epoch, seq, hash, source, id, agent, service, entry) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [last["epoch"], last["seq"] + 1, chained, source, event["id"], agent, service, entry],
    )


def head(db) -> dict:
    epoch = db.execute("SELECT value FROM setting WHERE name = 'epoch'").fetchone()[0]
    last = db.execute("SELECT seq, hash FROM log WHERE epoch = ? ORDER BY seq DESC LIMIT 1", [epoch]).fetchone()
    return {"epoch": epoch, "seq": last["seq"] if last else 0, "hash": last["hash"] if last else "0" * 64}


def after_restore(state: State) -> None:
    """To be run once after the folder was put back from a backup (TIX-40, TIX-41, STO-33, STO-34)."""
    with state.transaction() as db:
        db.execute("UPDATE setting SET value = ? WHERE name = 'epoch'", [secrets.token_urlsafe(16)])
        db.execute("UPDATE setting SET value = ? WHERE name = 'refused_until'", [time.time() + 30])
        db.execute("DELETE FROM invitation")
        log(db, "backup.restored", "success")
