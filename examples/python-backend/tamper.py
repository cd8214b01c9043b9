#!/usr/bin/python3
"""Changes a store past the plugin, as a later version of it might have: the
conformance suite asks for that. Input: the plugin's options. Argument: what to do."""

import json
import sqlite3
import sys

db = sqlite3.connect(json.load(sys.stdin)["path"], timeout=10)
what = sys.argv[1]
if what == "dump":
    for table in ("meta", "runs"):
        for row in db.execute(f"SELECT * FROM {table}"):
            print(table, row)
elif what == "unknown":
    db.execute("ALTER TABLE runs ADD COLUMN later TEXT")
    db.execute("UPDATE runs SET later = 'later ' || rowid")
    for (later,) in db.execute("SELECT later FROM runs"):
        print(later)
elif what == "newer":
    db.execute("UPDATE meta SET value = value + 1 WHERE key = 'format'")
else:
    sys.exit(f"unknown argument {what!r}; it must be dump, unknown or newer")
db.commit()
db.close()
