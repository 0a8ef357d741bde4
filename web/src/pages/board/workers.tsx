// The workers that are there: where each stands, on which task, and since when.
//
// Deliberately absent: a state of its own making. The pill is what the server says of a worker.
import type { View } from "../../api/types";
import { Named } from "../../parts/told";
import { Chain } from "../../pill/chain";
import { go, withParams } from "../../route/route";
import { useView } from "../../state/board";
import { count, shortId } from "../../time/format";
import { Ago } from "../../time/ticking";

export function Workers({ workers }: { workers: View[] }) {
  return (
    <section className="workers" aria-label="Workers">
      <h2>
        Workers <span className="num faint">{count(workers.length)}</span>
      </h2>
      {workers.length === 0 ? (
        <p className="faint">
          Nobody works on the board. Start a worker: <code>callboard work -- claude -p {"{prompt}"}</code>
        </p>
      ) : (
        <ul>
          {workers.map((worker) => (
            <WorkerLine key={worker.id} read={worker} />
          ))}
        </ul>
      )}
    </section>
  );
}

function WorkerLine({ read }: { read: View }) {
  const worker = useView(read.id) ?? read;
  const task = worker.facts.task;
  return (
    <li className="worker" data-worker={worker.id} data-state={worker.state.lifecycle ?? undefined}>
      <Chain view={worker} dense />
      <a
        className="worker-name"
        href={`/e/${worker.id}`}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey) return;
          event.preventDefault();
          go(withParams({ sel: worker.id, act: null, at: null }));
        }}
      >
        {worker.title ?? shortId(worker.id)}
      </a>
      <span className="cut soft">{typeof task === "string" && <Named id={task} />}</span>
      <span className="worker-age faint">
        <Ago at={worker.entered_at} />
      </span>
    </li>
  );
}
