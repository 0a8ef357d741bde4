// The upkeep of the store: prove it, shrink it, take a copy, take old rows in.
import { type ChangeEvent, useState } from "react";
import { asProblem, BASE, type Problem, post } from "../../api/client";
import type { Facts, Verified } from "../../api/types";
import { CopyLine } from "../../parts/copy";
import { Section } from "../../parts/section";
import { Refused } from "../../parts/states";
import { TonePill } from "../../pill/pill";
import { bytes, count } from "../../time/format";

const IMPORT_BYTES = 1_000_000;

function useOrder<T>(run: () => Promise<T>): {
  answer: T | null;
  problem: Problem | null;
  isBusy: boolean;
  go: () => void;
} {
  const [state, setState] = useState<{ answer: T | null; problem: Problem | null; isBusy: boolean }>({
    answer: null,
    problem: null,
    isBusy: false,
  });
  const go = () => {
    setState({ answer: null, problem: null, isBusy: true });
    run()
      .then((answer) => setState({ answer, problem: null, isBusy: false }))
      .catch((error) => setState({ answer: null, problem: asProblem(error), isBusy: false }));
  };
  return { ...state, go };
}

export function Upkeep({ legacy, onDone }: { legacy: number | null; onDone: () => void }) {
  return (
    <>
      <Verify />
      <Section title="Maintenance">
        <Vacuum onDone={onDone} />
        <Checkpoint />
        <p className="upkeep-line">
          <span className="soft">Every record as JSON, one a line.</span>
          <a className="button" href={`${BASE}/admin/export`} download="callboard.jsonl">
            Export
          </a>
        </p>
      </Section>
      <Import legacy={legacy} onDone={onDone} />
    </>
  );
}

function Verify() {
  const order = useOrder(() => post<Verified>("/admin/verify", {}));
  return (
    <Section title="Verify the ledger">
      <p className="upkeep-line">
        <span className="soft">Checks every record: its hash, its place, its edge, and the checkpoints over it.</span>
        <button type="button" disabled={order.isBusy} onClick={order.go}>
          {order.isBusy ? "Verifying…" : "Verify"}
        </button>
      </p>
      {order.problem && <Refused problem={order.problem} />}
      {order.answer && (
        <div role="status">
          <TonePill tone={order.answer.ok ? "success" : "danger"} text={order.answer.ok ? "sound" : "not sound"} />{" "}
          {count(order.answer.records)} records checked.
          <ul>
            {order.answer.problems.map((problem, at) => (
              <li key={at}>
                record {problem.seq ?? "—"}: {problem.problem}
              </li>
            ))}
          </ul>
        </div>
      )}
      <CopyLine line="callboard verify" />
    </Section>
  );
}

function Vacuum({ onDone }: { onDone: () => void }) {
  const order = useOrder(async () => {
    const answer = await post<Facts>("/admin/vacuum", {});
    onDone();
    return answer;
  });
  const size = (name: string) => (typeof order.answer?.[name] === "number" ? bytes(order.answer[name]) : null);
  return (
    <div className="upkeep-line">
      <span className="soft">Give back the space that is not needed. Writers wait meanwhile.</span>
      <button type="button" disabled={order.isBusy} onClick={order.go}>
        Vacuum
      </button>
      {order.answer && (
        <span role="status">
          Done{size("bytes_before") && size("bytes_after") ? `: ${size("bytes_before")} → ${size("bytes_after")}` : ""}.
        </span>
      )}
      {order.problem && <Refused problem={order.problem} />}
    </div>
  );
}

function Checkpoint() {
  const order = useOrder(() => post<Facts>("/admin/checkpoint", {}));
  const number = (name: string) => (typeof order.answer?.[name] === "number" ? count(order.answer[name]) : "—");
  return (
    <div className="upkeep-line">
      <span className="soft">The writer signs the log as it grows; this tells how far.</span>
      <button type="button" disabled={order.isBusy} onClick={order.go}>
        Checkpoints
      </button>
      {order.answer && (
        <span role="status">
          {number("checkpoints")} checkpoints, {number("head")} records.
        </span>
      )}
      {order.problem && <Refused problem={order.problem} />}
    </div>
  );
}

function importedText(answer: Facts): string {
  const number = (name: string) => (typeof answer[name] === "number" ? answer[name] : 0);
  const known = number("legacy_known");
  return `${count(number("legacy"))} taken in${known > 0 ? `, ${count(known)} were known already` : ""}.`;
}

function Import({ legacy, onDone }: { legacy: number | null; onDone: () => void }) {
  const [file, setFile] = useState<File | null>(null);
  const order = useOrder(async () => {
    const answer = await post<Facts>("/admin/import-legacy", (await file?.text()) ?? "");
    onDone();
    return answer;
  });
  const isTooBig = (file?.size ?? 0) > IMPORT_BYTES;
  return (
    <Section title="Legacy sessions" aside={legacy === null ? "" : `${count(legacy)} imported`}>
      <p className="soft">
        Rows from before there was a status vocabulary. They are kept, shown as legacy and counted nowhere.
      </p>
      <div className="form-line">
        <input
          type="file"
          aria-label="Legacy sessions, one JSON document a line"
          accept=".jsonl,.ndjson,.json"
          onChange={(event: ChangeEvent<HTMLInputElement>) => setFile(event.target.files?.[0] ?? null)}
        />
        <button type="button" disabled={!file || isTooBig || order.isBusy} onClick={order.go}>
          Import
        </button>
      </div>
      {isTooBig && <p className="refused">That file is larger than the server takes in one piece. Split it.</p>}
      {order.problem && <Refused problem={order.problem} />}
      {order.answer && <p role="status">{importedText(order.answer)}</p>}
    </Section>
  );
}
