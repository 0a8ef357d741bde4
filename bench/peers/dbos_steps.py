"""Durable steps of DBOS on SQLite, one caller: steps a second, over as many seconds as asked."""

import sys
import time

from dbos import DBOS

DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{sys.argv[1]}", "log_level": "ERROR"})


@DBOS.step()
def step(number):
    return number


@DBOS.workflow()
def steps(seconds):
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        step(done)
        done += 1
    return done / (time.perf_counter() - start)


DBOS.launch()
print(f"{steps(float(sys.argv[2])):.1f}")
DBOS.destroy()
