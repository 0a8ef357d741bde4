// What a person decides about a task: each act says what will happen and asks why.
//
// Invariant: an act is offered where the machine of a task has a move for it that an operator may take; the server decides
// whether it is done.
import { useState } from "react";
import { post } from "../api/client";
import type { Machine, View } from "../api/types";
import { useWords } from "../state/board";
import { ActForm } from "./panel";

export type TaskAct = "approve" | "reject" | "unblock" | "retry" | "cancel";

/** The triggers that an act stands for, in the order in which the acts are offered. */
const TRIGGERS: Record<TaskAct, string[]> = {
  approve: ["plan_approved", "approved"],
  reject: ["plan_rejected", "rejected"],
  unblock: ["dependency_resolved"],
  retry: ["retried"],
  cancel: ["cancel_asked"],
};
const TEXTS: Record<TaskAct, string> = {
  approve: "Approve",
  reject: "Reject",
  unblock: "Unblock",
  retry: "Try again",
  cancel: "Cancel",
};
const ACTS = Object.keys(TRIGGERS) as TaskAct[];

export const isTaskAct = (word: string | null): word is TaskAct => ACTS.some((act) => act === word);
export const textOf = (act: TaskAct): string => TEXTS[act];

/** The acts that a person has for a task where it stands, with the trigger each stands for there. */
export function taskActs(machine: Machine | undefined, view: View): Map<TaskAct, string> {
  const from = view.state.lifecycle;
  const triggers = (machine?.rows ?? [])
    .filter((row) => row.from === from && row.actors.includes("operator"))
    .flatMap((row) => row.triggers);
  // An open task waits without being blocked, and what it waits for can be vouched for, too.
  const unmet = view.facts.unmet;
  if (from === "open" && Array.isArray(unmet) && unmet.length > 0) triggers.push("dependency_resolved");
  const found = new Map<TaskAct, string>();
  for (const act of ACTS) {
    const trigger = TRIGGERS[act].find((one) => triggers.includes(one));
    if (trigger) found.set(act, trigger);
  }
  return found;
}

interface TaskFormProps {
  view: View;
  act: TaskAct;
  /** What moves it on, as the server says. */
  next: string | null;
  onClose: () => void;
}

export function TaskForm({ view, act, next, onClose }: TaskFormProps) {
  const trigger = taskActs(useWords().machine(view.kind), view).get(act);
  const [again, setAgain] = useState(false);
  const [wholePlan, setWholePlan] = useState(false);
  const [moreTime, setMoreTime] = useState(false);
  const isPlan = trigger === "plan_approved" || trigger === "plan_rejected";
  const hasPlan = isPlan && typeof view.facts.plan === "string";
  if (!trigger) {
    return (
      <div className="act">
        <h2>There is nothing to {textOf(act).toLowerCase()}</h2>
        <p>The task has moved on since: it is “{view.effective}”.</p>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    );
  }
  return (
    <ActForm
      title={`${textOf(act)} “${view.title ?? view.id}”`}
      happens={happens(trigger, view, next, again)}
      button={`${textOf(act)} it`}
      asks={act === "reject" ? "Why? The next attempt is told." : "Why?"}
      run={async (because) => {
        const body = {
          because,
          ...(again && trigger === "rejected" ? { again } : {}),
          ...(wholePlan && hasPlan ? { whole_plan: wholePlan } : {}),
          ...(moreTime && trigger === "retried" ? { more_time: moreTime } : {}),
        };
        await post<View>(`/tasks/${encodeURIComponent(view.id)}/${act}`, body);
      }}
      onClose={onClose}
    >
      {trigger === "rejected" && (
        <label className="check">
          <input type="checkbox" checked={again} onChange={(event) => setAgain(event.target.checked)} />
          Have it done again
        </label>
      )}
      {trigger === "retried" && (
        <label className="check">
          <input type="checkbox" checked={moreTime} onChange={(event) => setMoreTime(event.target.checked)} />
          Let it take twice as long as the last attempt
        </label>
      )}
      {hasPlan && (
        <label className="check">
          <input type="checkbox" checked={wholePlan} onChange={(event) => setWholePlan(event.target.checked)} />
          All tasks of its plan that wait for a decision
        </label>
      )}
    </ActForm>
  );
}

/** What will happen, in a sentence or two. */
export function happens(trigger: string, view: View, next: string | null, again: boolean): string {
  const { facts } = view;
  const parts = Array.isArray(facts.subtasks) ? facts.subtasks.length : 0;
  const base = typeof facts.base === "string" ? facts.base : "its base";
  switch (trigger) {
    case "plan_approved":
      return "Opens this task: any worker of its role can claim it from now on.";
    case "approved":
      return facts.deliver === "branch"
        ? "Takes the result: its branch stays as it is, and the task is closed."
        : `Takes the result: it is merged into ${base}, and the task is closed.`;
    case "plan_rejected":
      return "Takes this task off the plan: it ends as cancelled.";
    case "rejected":
      return again
        ? "Does not take the result: the task is open again, and the next attempt is told your reason."
        : "Does not take the result: the task has failed, and nothing is merged.";
    case "dependency_resolved":
      return `Says that what it waits for is there${next ? ` (${next})` : ""}. Any worker can claim it at once; nobody checks it again.`;
    case "retried":
      return "Opens this task for one more attempt, at once. The next attempt is told what went wrong.";
    case "cancel_asked": {
      const worker =
        typeof facts.lease_holder === "string" ? " Its worker stops its agent with the next heartbeat." : "";
      const subtasks = parts > 0 ? ` Its ${parts} ${parts === 1 ? "subtask is" : "subtasks are"} called off, too.` : "";
      return `Calls this task off for good; nothing of it is merged.${worker}${subtasks}`;
    }
    default:
      return "The move and your reason are recorded.";
  }
}
