// Documents for tests, complete, with what a test is about put in.
import type {
  AttentionItem,
  LedgerRecord,
  Machine,
  NormalizedState,
  Question,
  TaskCard,
  View,
  Vocabulary,
} from "./api/types";

export function state(some: Partial<NormalizedState> = {}): NormalizedState {
  return {
    lifecycle: "running",
    outcome: null,
    phase: null,
    health: "running",
    delivery: null,
    severity: "info",
    tone: "info",
    reasons: [],
    evaluated_at: "2026-11-15T12:00:00.000000Z",
    policy_version: "v2",
    source: "backend",
    ...some,
  };
}

export function view(some: Partial<View> = {}): View {
  return {
    id: "ses_01m7grbsckepybw2zv8gzdsez6",
    kind: "session",
    title: "fix the flaky test",
    labels: {},
    version: 1,
    state: state(),
    chain: "Running",
    effective: "Running",
    created_at: "2026-11-15T11:00:00.000000Z",
    started_at: "2026-11-15T11:00:00.000000Z",
    entered_at: "2026-11-15T11:00:00.000000Z",
    ended_at: null,
    last_activity_at: "2026-11-15T11:59:00.000000Z",
    parent: null,
    host: "vm",
    pid: 7,
    exit: { code: null, signal: null, oom: null, timed_out: null },
    timeout: { configured_s: null, elapsed_s: null },
    artifacts: { dir: null, contract: null, verification: null },
    facts: {},
    ...some,
  };
}

export function record(
  some: { id?: string; version?: number; seq?: number; to?: string; type?: string } = {},
): LedgerRecord {
  return {
    seq: some.seq ?? 1,
    at: "2026-11-15T12:00:00.000000Z",
    entity: { kind: "session", id: some.id ?? "ses_01m7grbsckepybw2zv8gzdsez6" },
    version: some.version ?? 1,
    type: some.type ?? "transitioned",
    channel: "audit",
    from: "pending",
    to: some.to ?? "running",
    trigger: "spawned",
    actor: { type: "supervisor", id: "vm/1" },
    reasons: [],
    cause: null,
    key: null,
    data: {},
    hash: "00",
  };
}

export function item(some: Partial<AttentionItem> = {}): AttentionItem {
  const id = some.entity?.id ?? "ses_01m7grbsckepybw2zv8gzdsez6";
  return {
    fingerprint: `session:${id}:run.failed.exit_nonzero`,
    severity: "critical",
    tone: "danger",
    entity: { kind: "session", id, title: "fix the flaky test" },
    chain: "Failed · Infra OK",
    reason: { code: "run.failed.exit_nonzero", message: "exited with 3" },
    cluster: "run.failed.exit_nonzero",
    cluster_size: 1,
    dismissed: false,
    snoozed_until: null,
    first_seen_at: "2026-11-15T11:00:00.000000Z",
    actions: [],
    ...some,
  };
}

export function card(some: Partial<TaskCard> = {}): TaskCard {
  return {
    id: "tsk_01m7grbsckepybw2zv8gzdsez6",
    title: "fix the flaky test",
    state: "open",
    role: null,
    priority: 2,
    scope: "medium",
    repo: null,
    labels: {},
    entered_at: "2026-11-15T11:00:00.000000Z",
    age_s: 3600,
    holder: null,
    progress: null,
    waits_for: [],
    next_move: "any worker that claims it",
    ...some,
  };
}

export function question(some: Partial<Question> = {}): Question {
  return {
    id: "qst_01m7grbsckepybw2zv8gzdsez6",
    state: "asked",
    source: "ask",
    subject: null,
    text: "Which port?",
    context: null,
    options: ["80", "8080"],
    default: "hold",
    asked_at: "2026-11-15T11:00:00.000000Z",
    expires_at: null,
    asked_by: "ann",
    answerers: [],
    scopes: [],
    answer: null,
    answered_by: null,
    because: null,
    rule: null,
    ended_at: null,
    ...some,
  };
}

const word = (name: string, label: string, icon: string, token: string, tone: string) => ({
  name,
  label,
  meaning: `${label}.`,
  icon,
  token,
  tone,
});

export const session: Machine = {
  kind: "session",
  noun: "run",
  meaning: "One supervised execution.",
  initial: ["pending"],
  terminal: ["completed", "failed"],
  edges: [
    { from: "pending", to: "running", triggers: ["spawned"] },
    { from: "pending", to: "failed", triggers: ["spawn_failed"] },
    { from: "running", to: "completed", triggers: ["exited_clean"] },
    { from: "running", to: "failed", triggers: ["exited_dirty"] },
  ],
  health: [],
  delivery: [],
  admin_targets: ["failed"],
  states: [
    word("pending", "Pending", "clock", "neutral", "neutral"),
    word("running", "Running", "activity", "running", "info"),
    word("completed", "Completed", "check", "success", "success"),
    word("failed", "Failed", "x-circle", "error", "danger"),
  ],
  triggers: [],
};

export const vocabulary: Vocabulary = {
  taxonomies: [
    {
      name: "health",
      values: [
        word("ok", "Infra OK", "check", "success", "success"),
        word("process_dead", "Process dead", "x-circle", "error", "danger"),
      ],
    },
    {
      name: "phase",
      values: [word("stopping", "Stopping", "stop", "warning", "warning")],
    },
    {
      name: "tone",
      values: [
        word("danger", "Danger", "x-circle", "error", "danger"),
        word("warning", "Warning", "alert", "warning", "warning"),
        word("info", "Info", "activity", "running", "info"),
        word("success", "Success", "check", "success", "success"),
        word("neutral", "Neutral", "dash", "neutral", "neutral"),
      ],
    },
  ],
  tokens: [],
  legacy: {
    label: "legacy",
    token: "neutral",
    icon: "dash",
    border: "dotted",
    tooltip: "Sessions created before the current status vocabulary. Excluded from live operational metrics.",
  },
};
