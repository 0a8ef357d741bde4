// The reaper, by hand: first what it would do, then, with a reason, doing it.
import { useState } from "react";
import { giveAll } from "../../acts/orders";
import { ActForm } from "../../acts/panel";
import { asProblem, type Problem, post } from "../../api/client";
import type { Reaped } from "../../api/types";
import { CopyLine } from "../../parts/copy";
import { Section } from "../../parts/section";
import { Refused } from "../../parts/states";
import { Link } from "../../route/link";
import { entityPath } from "../../route/route";
import { count } from "../../time/format";

const AGES = [
  { s: 0, text: "any time" },
  { s: 600, text: "10 minutes" },
  { s: 3600, text: "1 hour" },
  { s: 86_400, text: "1 day" },
];

export function Reap({ onDone }: { onDone: () => void }) {
  const [age, setAge] = useState(600);
  const [found, setFound] = useState<Reaped | null>(null);
  const [asks, setAsks] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const reap = (body: object) => post<Reaped>("/admin/reap", body);
  const look = () => {
    setProblem(null);
    reap({ dry_run: true, older_than_s: age })
      .then(setFound)
      .catch((error) => setProblem(asProblem(error)));
  };
  const would = found?.items.filter((item) => item.act === "would_end").length ?? 0;
  return (
    <Section title="Reap the dead">
      <p className="soft">
        Ends the runs whose process is gone and that wrote no end. What is alive, or held by another host, is never
        touched.
      </p>
      <div className="form-line">
        <label className="choice">
          <span>Silent for</span>
          <select
            value={age}
            onChange={(event) => {
              setAge(Number(event.target.value));
              setFound(null);
              setAsks(false);
            }}
          >
            {AGES.map((one) => (
              <option key={one.s} value={one.s}>
                {one.text}
              </option>
            ))}
          </select>
        </label>
        <button type="button" onClick={look}>
          See what it would do
        </button>
        {found?.dry_run && would > 0 && !asks && (
          <button type="button" className="strong" onClick={() => setAsks(true)}>
            End {count(would)}…
          </button>
        )}
      </div>
      {problem && <Refused problem={problem} />}
      {found && <Found found={found} />}
      {asks && (
        <ActForm
          title={`End ${count(would)} dead ${would === 1 ? "run" : "runs"}`}
          happens="Each ends as aborted, with what shows that its process is gone. What still lives of its processes is ended first."
          button={`End ${count(would)}`}
          asks="Why now?"
          run={async (reason) => {
            const done = await reap({ dry_run: false, older_than_s: age });
            setFound(done);
            // The reaper records what shows that each is dead; why it was sent out now is a note beside that.
            const ended = done.items.filter((item) => item.act === "ended").map((item) => item.id);
            await giveAll(ended, { act: "note", text: `Reaped by hand: ${reason}` });
            onDone();
          }}
          onClose={() => setAsks(false)}
        />
      )}
      <CopyLine line={`callboard reap --dry-run --older-than ${age}s`} />
    </Section>
  );
}

function Found({ found }: { found: Reaped }) {
  if (found.items.length === 0) return <p role="status">Nothing looks dead.</p>;
  const words: Record<string, string> = { would_end: "would end", ended: "ended", left_alone: "left alone" };
  return (
    <table className="table" role="status">
      <thead>
        <tr>
          <th scope="col">Run</th>
          <th scope="col">{found.dry_run ? "It" : "Done"}</th>
          <th scope="col">Because</th>
        </tr>
      </thead>
      <tbody>
        {found.items.map((item) => (
          <tr key={item.id}>
            <td>
              <Link to={entityPath(item.id)}>{item.title ?? item.id}</Link>
            </td>
            <td>{words[item.act] ?? item.act}</td>
            <td className="soft">{item.because}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
