// The workers of the board: whether each is at work, stalled, merging, idle or gone, on which task, and why.
//
// Deliberately absent: a state of its own making. The visual state, its sign and its colour are the server's.
import { useState } from "react";
import { get } from "../../api/client";
import type { Worker, Workers as WorkersAnswer } from "../../api/types";
import { Refused } from "../../parts/states";
import { Told } from "../../parts/told";
import { go, withParams } from "../../route/route";
import { type Read, useDocument } from "../../state/board";
import { count, shortId } from "../../time/format";
import { Ago } from "../../time/ticking";

/** Time alone stalls a worker, and a process that dies records nothing, so it is asked again soon. */
const EVERY_MS = 5000;

export function useWorkers(all: boolean): Read<WorkersAnswer> {
  return useDocument((signal) => get<WorkersAnswer>(`/workers${all ? "?all=true" : ""}`, signal), `workers ${all}`, {
    on: ({ entity }) => /^(worker|task|task_turn)$/.test(entity.kind),
    atMostEveryMs: 300,
    alsoEveryMs: EVERY_MS,
  });
}

export function Workers({ live }: { live: Read<WorkersAnswer> }) {
  const [isAll, setAll] = useState(false);
  const read = isAll ? <EndedToo /> : live.data && <List workers={live.data.items} isAll={false} />;
  return (
    <section className="workers" aria-label="Workers">
      <h2>
        Workers {live.data && <span className="num faint">{count(live.data.items.length)}</span>}
        <label className="workers-all">
          <input type="checkbox" checked={isAll} onChange={(event) => setAll(event.target.checked)} /> ended too
        </label>
      </h2>
      {live.problem && <Refused problem={live.problem} />}
      {read}
    </section>
  );
}

function EndedToo() {
  const read = useWorkers(true);
  return read.data && <List workers={read.data.items} isAll />;
}

function List({ workers, isAll }: { workers: Worker[]; isAll: boolean }) {
  if (workers.length === 0)
    return (
      <p className="faint">
        {isAll ? "Nobody worked on the board in the last day. " : "Nobody works on the board. "}
        Start a worker: <code>callboard work -- claude -p {"{prompt}"}</code>
      </p>
    );
  return (
    <ul>
      {workers.map((worker) => (
        <WorkerLine key={worker.id} worker={worker} />
      ))}
    </ul>
  );
}

function WorkerLine({ worker }: { worker: Worker }) {
  const where = [worker.host, worker.pid === null ? null : `pid ${worker.pid}`, worker.by && `by ${worker.by}`];
  return (
    <li className="worker" data-worker={worker.id} data-visual={worker.visual}>
      <span className={`pill dense tone-${worker.token}`}>
        <span className="worker-sign" aria-hidden="true">
          {worker.indicator}
        </span>
        <span>{worker.label}</span>
      </span>
      <a
        className="worker-name"
        href={`/e/${worker.id}`}
        title={where.filter(Boolean).join(", ")}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey) return;
          event.preventDefault();
          go(withParams({ sel: worker.id, act: null, at: null }));
        }}
      >
        {worker.title ?? shortId(worker.id)}
      </a>
      {worker.task && (
        <span className="worker-task cut">
          <Told text={worker.task} titleOf={() => worker.task_title} />
        </span>
      )}
      <span className="worker-why cut soft" title={worker.why}>
        {worker.why}
      </span>
      <span className="worker-age faint" title="heard of so long ago">
        <Ago at={worker.last_heard_at} />
      </span>
    </li>
  );
}
