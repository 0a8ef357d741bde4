// The panel for acts that change the world: it says what will happen, asks for a reason, and shows what was refused.
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { asProblem, type Problem } from "../api/client";
import type { View } from "../api/types";
import { Refused } from "../parts/states";
import { useWords } from "../state/board";
import { give, giveAll, type Order } from "./orders";

interface ActFormProps {
  title: string;
  /** What will happen, in a sentence. */
  happens: ReactNode;
  button: string;
  /** Ask for a reason, which is recorded. */
  asks?: string;
  children?: ReactNode;
  run: (reason: string) => Promise<void>;
  onClose: () => void;
}

export function ActForm({ title, happens, button, asks, children, run, onClose }: ActFormProps) {
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const form = useRef<HTMLFormElement>(null);
  useEffect(
    () => form.current?.querySelector<HTMLElement>("input:not([type=checkbox]), select, button[type=submit]")?.focus(),
    [],
  );
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      await run(reason.trim());
      onClose();
    } catch (error) {
      setProblem(asProblem(error));
      setBusy(false);
    }
  };
  return (
    <form className="act" ref={form} onSubmit={submit} aria-label={title}>
      <h2>{title}</h2>
      <p>{happens}</p>
      {children}
      {asks && (
        <label>
          {asks}
          <input value={reason} onChange={(event) => setReason(event.target.value)} required maxLength={500} />
        </label>
      )}
      {problem && <Refused problem={problem} />}
      <div className="act-end">
        <button type="submit" className="strong" disabled={busy}>
          {busy ? "Asking…" : button}
        </button>
        <button type="button" onClick={onClose}>
          Leave it
        </button>
      </div>
    </form>
  );
}

const where = (view: View) =>
  `${view.pid === null ? "" : ` (pid ${view.pid})`}${view.host ? ` on host ${view.host}` : ""}`;

export function StopForm({ view, onClose }: { view: View; onClose: () => void }) {
  const [now, setNow] = useState(false);
  return (
    <ActForm
      title={`Stop “${view.title ?? view.id}”`}
      happens={`Stops this run and every process it started${where(view)}: it is asked to end, and after the grace period it is killed. It ends as cancelled, and your reason is recorded.`}
      button="Stop it"
      asks="Why?"
      run={async (reason) => void (await give(view.id, { act: "stop", reason, now }))}
      onClose={onClose}
    >
      <label className="check">
        <input type="checkbox" checked={now} onChange={(event) => setNow(event.target.checked)} />
        Kill at once, without the grace period
      </label>
    </ActForm>
  );
}

export function TransitionForm({ view, onClose }: { view: View; onClose: () => void }) {
  const words = useWords();
  const machine = words.machine(view.kind);
  const from = view.state.lifecycle;
  const targets = (machine?.admin_targets ?? []).filter((to) =>
    machine?.edges.some((edge) => edge.from === from && edge.to === to),
  );
  const [to, setTo] = useState(targets[0] ?? "");
  const codes = useReasonCodes(view.kind, from, to);
  const [code, setCode] = useState("");
  const chosen = codes.includes(code) ? code : (codes[0] ?? "");
  if (targets.length === 0) {
    return (
      <div className="act">
        <h2>No move by hand</h2>
        <p>An operator cannot move this {words.noun(view.kind)} from where it stands.</p>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    );
  }
  return (
    <ActForm
      title={`Move “${view.title ?? view.id}” by hand`}
      happens={`Records that this ${words.noun(view.kind)} is ${words.label(view.kind, to)}. Nothing is stopped or started. It happens only if nothing else was recorded since version ${view.version}.`}
      button={`Record ${words.label(view.kind, to)}`}
      asks="What do you know that shows it?"
      run={async (message) => {
        await give(view.id, { act: "transition", to, reason: chosen, message, ifVersion: view.version });
      }}
      onClose={onClose}
    >
      <label>
        To
        <select value={to} onChange={(event) => setTo(event.target.value)}>
          {targets.map((target) => (
            <option key={target} value={target}>
              {words.label(view.kind, target)}
            </option>
          ))}
        </select>
      </label>
      <label>
        Reason
        <select value={chosen} onChange={(event) => setCode(event.target.value)}>
          {codes.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
    </ActForm>
  );
}

/** The reason codes that the machine's rows accept for a move by hand. */
function useReasonCodes(kind: string, from: string | null, to: string): string[] {
  const words = useWords();
  const rows = words.machine(kind)?.rows ?? [];
  const patterns = rows
    .filter((row) => row.from === from && row.to === to && row.actors.includes("operator"))
    .flatMap((row) => row.reasons);
  const fits = (code: string) =>
    patterns.some((pattern) => (pattern.endsWith("*") ? code.startsWith(pattern.slice(0, -1)) : code === pattern));
  const codes = [...words.reasons.keys()].filter(fits);
  // What an operator does is most often called so.
  return codes.sort((a, b) => Number(b.endsWith(".operator")) - Number(a.endsWith(".operator")));
}

export function NoteForm({ view, onClose }: { view: View; onClose: () => void }) {
  return (
    <ActForm
      title="Write a note"
      happens="The note is recorded beside what happened, with your name and the time. It changes no state."
      button="Record it"
      asks="Note"
      run={async (text) => void (await give(view.id, { act: "note", text }))}
      onClose={onClose}
    />
  );
}

interface ManyProps {
  act: "stop" | "retry";
  ids: string[];
  hosts: string[];
  noun: string;
  onClose: () => void;
}

/** One act on a whole cluster. */
export function ManyForm({ act, ids, hosts, noun, onClose }: ManyProps) {
  const [done, setDone] = useState<number | null>(null);
  const many = `${ids.length} ${noun}${ids.length === 1 ? "" : "s"}`;
  const on = hosts.length === 0 ? "" : ` on ${hosts.length === 1 ? "host" : "hosts"} ${hosts.join(", ")}`;
  const happens =
    act === "stop"
      ? `Stops ${many}${on}, each with every process it started. They end as cancelled, and your reason is recorded with each.`
      : `Starts ${many} again${on}: the same commands, in the same directories, with the same options.`;
  const order = (reason: string): Order => (act === "stop" ? { act, reason, now: false } : { act });
  return (
    <ActForm
      title={act === "stop" ? `Stop ${many}` : `Retry ${many}`}
      happens={done === null ? happens : `${done} of ${ids.length} asked.`}
      button={act === "stop" ? `Stop ${many}` : `Retry ${many}`}
      {...(act === "stop" ? { asks: "Why?" } : {})}
      run={async (reason) => {
        const outcome = await giveAll(ids, order(reason), setDone);
        const first = outcome.refused[0];
        if (first) throw first.problem;
      }}
      onClose={onClose}
    />
  );
}
