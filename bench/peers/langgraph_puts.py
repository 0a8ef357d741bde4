"""Durable puts of LangGraph's SQLite saver, one caller: puts a second, over as many seconds as asked."""

import sqlite3
import sys
import time

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver

connection = sqlite3.connect(sys.argv[1], check_same_thread=False)
saver = SqliteSaver(connection)
saver.setup()
mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
sync = connection.execute("PRAGMA synchronous").fetchone()[0]
if (mode, sync) != ("wal", 2):
    sys.exit(f"it does not sync before it answers: {mode}, {sync}")
config = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}
done, start = 0, time.perf_counter()
while time.perf_counter() - start < float(sys.argv[2]):
    config = saver.put(config, empty_checkpoint(), {"source": "loop", "step": done}, {})
    done += 1
print(f"{done / (time.perf_counter() - start):.1f}")
