"""The store: a claim-only backend on a SQLite file, for instances on one host.

It knows nothing of messages. Every verb is judged inside a transaction that has the
file's write lock, by the host's clock, read under that lock.
"""

import random
import sqlite3
import time

FORMAT = 1

RUNNING, SUCCESS, FAILED, INTERRUPTED = 1, 2, 3, 4  # the protocol's Status
LATE_TOLERANCE_MS = 10_000
PAGE = 1000  # attempts: their longest error texts fit into half a message


class StoreFormatError(Exception):
    """The file is of a newer version; it was not touched."""


class NotApplied(Exception):
    """The request surely left no trace."""


class Jobs:
    """One namespace of a file. All calls must come from one thread."""

    def __init__(self, path, namespace, keep):
        self.namespace, self.keep = namespace.encode(), keep
        # isolation_level None: transactions are begun here, not behind our back.
        # timeout 0: SQLite's own waiting grows to 100 ms a time and is unfair to who
        # waits longest; see _while_busy.
        self.db = sqlite3.connect(path, timeout=0, isolation_level=None)
        try:
            self._prepare()
        except BaseException:
            self.db.close()
            raise

    def _prepare(self):
        until = time.monotonic() + 20  # any number of processes come here at once
        # A grant must be on the disk, and stay there, before it is answered.
        self._while_busy("PRAGMA synchronous = EXTRA", until)
        [self.settings] = self.in_one_commit(lambda _: self._prepare_format() or self._observe(), [None], until)

    def _observe(self):
        """The settings that safety depends on."""
        return [(name, str(self.db.execute(f"PRAGMA {name}").fetchone()[0])) for name in ("journal_mode", "synchronous")]

    def _prepare_format(self):
        if self.db.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
            (found,) = self.db.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
            if found > FORMAT:
                raise StoreFormatError(f"the file has format {found}, this version knows up to {FORMAT}: upgrade this instance")
            return
        self.db.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value)")
        self.db.execute("INSERT INTO meta (key, value) VALUES ('format', ?)", (FORMAT,))
        # Names are bytes: text would stop at a NUL in some of SQLite's functions.
        self.db.execute(
            """CREATE TABLE runs (
                 namespace BLOB, job BLOB, slot INTEGER, claim BLOB, token INTEGER, instance BLOB,
                 reason INTEGER, status INTEGER, started INTEGER, ended INTEGER, error BLOB,
                 PRIMARY KEY (namespace, job, slot))"""
        )
        self.db.execute("CREATE INDEX runs_by_token ON runs (namespace, job, token)")

    def close(self):
        self.db.close()

    def in_one_commit(self, decide, items, until):
        """Judge a batch: in order, each item by itself, with one sync of the disk.

        The lock is waited for until that time, of time.monotonic. Raises NotApplied if
        nothing was written. Any other sqlite3.Error is from the COMMIT, and leaves open
        if it was.
        """
        try:
            self._while_busy("BEGIN IMMEDIATE", until)
            answers = [decide(item) for item in items]
        except StoreFormatError:
            self._roll_back()
            raise
        except Exception as e:
            self._roll_back()
            raise NotApplied(f"{type(e).__name__}: {e}") from e
        try:
            self._while_busy("COMMIT", until)
        except sqlite3.OperationalError as e:
            if not is_busy(e):
                raise
            self._roll_back()  # somebody reads all the while; nothing was written yet
            raise NotApplied(str(e)) from e
        return answers

    def _roll_back(self):
        if self.db.in_transaction:
            self.db.execute("ROLLBACK")

    def _while_busy(self, statement, until):
        """Ask again in short random pauses, so that no process waits much longer than
        the others: each has the lock for a few milliseconds only."""
        while True:
            try:
                return self.db.execute(statement)
            except sqlite3.OperationalError as e:
                if not is_busy(e) or time.monotonic() > until:
                    raise
            time.sleep(random.uniform(0.0005, 0.005))

    def claim(self, c):
        """Decide a claim, within a transaction. Returns the fields of a ClaimAnswer."""
        now = now_ms()
        key = (self.namespace, c.job.encode(), c.slot_ms)
        row = self.db.execute(
            "SELECT claim, instance, token, status FROM runs WHERE namespace = ? AND job = ? AND slot = ?", key
        ).fetchone()
        if row:
            claim, instance, token, status = row
            if status == RUNNING and claim == c.id and instance == c.instance.encode():
                return {"verdict": "WON", "attempt": 1, "token": token, "now_ms": now}  # its answer was lost
            return {"verdict": "FINISHED", "status": status, "now_ms": now}
        if c.after > 0:  # the claim says itself that the slot was granted, and it was forgotten
            return {"verdict": "FINISHED", "now_ms": now}
        if now - c.slot_ms > c.max_late_ms + LATE_TOLERANCE_MS:
            return {"verdict": "LATE", "by_ms": now - c.slot_ms, "now_ms": now}
        if c.slot_ms - now > c.max_early_ms:
            return {"verdict": "EARLY", "by_ms": c.slot_ms - now, "now_ms": now}
        (last,) = self.db.execute("SELECT max(token) FROM runs WHERE namespace = ? AND job = ?", key[:2]).fetchone()
        token = max((last or 0) + 1, now)
        self.db.execute(
            "INSERT INTO runs (namespace, job, slot, claim, token, instance, reason, status, started, ended, error)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, x'')",
            (*key, c.id, token, c.instance.encode(), c.reason, RUNNING, now),
        )
        # What is declared is kept, for each job by itself: the latest grants.
        self.db.execute(
            "DELETE FROM runs WHERE namespace = ? AND job = ? AND token <= ("
            " SELECT token FROM runs WHERE namespace = ? AND job = ? ORDER BY token DESC LIMIT 1 OFFSET ?)",
            (*key[:2], *key[:2], self.keep),
        )
        return {"verdict": "WON", "attempt": 1, "token": token, "now_ms": now}

    def finish(self, f, status):
        """Record how an attempt ended, within a transaction."""
        now = now_ms()
        which = (self.namespace, f.job.encode(), f.slot_ms, f.token)
        where = " WHERE namespace = ? AND job = ? AND slot = ? AND token = ?"
        row = self.db.execute("SELECT status FROM runs" + where, which).fetchone()
        if row and row[0] == RUNNING:
            text = f.error.replace("\x00", "\ufffd")[:2000].encode()
            self.db.execute("UPDATE runs SET status = ?, ended = ?, error = ?" + where, (status, now, text, *which))
            return {"recorded": True, "now_ms": now}
        # The same outcome again: the first answer was lost. Anything else is.
        return {"recorded": bool(row) and row[0] == status, "now_ms": now}

    def history(self, job, limit, before):
        """The attempts of slots below before, newest first, and whether more follow."""
        limit = min(limit, PAGE)
        rows = self.db.execute(
            "SELECT slot, token, instance, reason, status, started, ended, error FROM runs"
            " WHERE namespace = ? AND job = ? AND slot < ? ORDER BY slot DESC LIMIT ?",
            (self.namespace, job.encode(), before, limit + 1),
        ).fetchall()
        attempts = [
            {
                "slot_ms": slot, "attempt": 1, "token": token, "instance": instance.decode(), "reason": reason,
                "status": status, "started_ms": started, "ended_ms": ended, "error": error.decode(),
            }
            for slot, token, instance, reason, status, started, ended, error in rows[:limit]
        ]  # fmt: skip
        return attempts, len(rows) > limit


def is_busy(e):
    return e.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


def now_ms():
    """The store's clock: SQLite's is that of the host."""
    return time.time_ns() // 1_000_000
