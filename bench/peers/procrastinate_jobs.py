"""Jobs of procrastinate on PostgreSQL: each worker defers one, fetches one and finishes it. Rate, and p50 and p99 of a fetch in seconds."""

import asyncio
import sys
import time

from procrastinate import App, PsycopgConnector
from procrastinate.jobs import Status

url, workers, seconds, behind = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
app = App(connector=PsycopgConnector(conninfo=url, min_size=workers, max_size=workers))


@app.task(name="fix")
def fix(title):
    return title


async def work(until, fetches):
    manager = app.job_manager
    number, done = await manager.register_worker(), 0
    while time.perf_counter() < until:
        await fix.defer_async(title="fix the flaky login test")
        start = time.perf_counter()
        job = await manager.fetch_job(queues=None, worker_id=number)
        while job is None:
            job = await manager.fetch_job(queues=None, worker_id=number)
        fetches.append(time.perf_counter() - start)
        await manager.finish_job(job=job, status=Status.SUCCEEDED, delete_job=False)
        done += 1
    return done


async def main():
    async with app.open_async():
        if not await app.check_connection_async():
            await app.schema_manager.apply_schema_async()
            await app.connector.execute_query_async(
                "INSERT INTO procrastinate_jobs (queue_name, task_name, args, status, attempts)"
                " SELECT 'default', 'fix', '{}', 'succeeded', 1 FROM generate_series(1, %(behind)s)",
                behind=behind,
            )
            await app.connector.execute_query_async("ANALYZE")
        start, fetches = time.perf_counter(), []
        done = await asyncio.gather(*(work(start + seconds, fetches) for _ in range(workers)))
        rate = sum(done) / (time.perf_counter() - start)
        fetches.sort()
        print(rate, fetches[len(fetches) // 2], fetches[len(fetches) * 99 // 100])


asyncio.run(main())
