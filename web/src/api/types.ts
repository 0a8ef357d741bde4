// The documents of the HTTP API, as CONTRACT.md and the server describe them.
//
// Invariant: unknown is null. Fields marked optional are additions that an older server does not send. Words of
// vocabularies (states, healths, tones) are plain strings here: the page learns them from /vocabulary and /machines
// and has no list of its own.

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type Facts = { [name: string]: Json };

export type Severity = "critical" | "warning" | "info" | "neutral";
export type Tone = "danger" | "warning" | "info" | "success" | "neutral";

export interface EvidenceRef {
  kind: string;
  id?: string | null;
  session_id?: string | null;
  message_id?: string | null;
  tool_call_id?: string | null;
  artifact_id?: string | null;
  path?: string | null;
  url?: string | null;
  repo?: string | null;
  commit_sha?: string | null;
  content_hash?: string | null;
  fetched_at?: string | number | null;
  detail?: string | null;
}

export interface StateReason {
  code: string;
  message: string;
  claim_status: string;
  confidence: number;
  entity_type?: string | null;
  entity_id?: string | null;
  evidence: EvidenceRef[];
}

export interface NormalizedState {
  lifecycle: string | null;
  outcome: string | null;
  health: string | null;
  delivery: string | null;
  severity: Severity;
  tone: Tone;
  reasons: StateReason[];
  evaluated_at: string;
  policy_version: string;
  source: string;
}

export interface ArtifactFile {
  path: string;
  bytes?: number | null;
  sha256?: string | null;
}

export interface ArtifactItem {
  id: string;
  path: string;
  required: boolean;
  found: string;
  because: string | null;
  matched?: number | null;
  output?: string | null;
  files: (ArtifactFile | string)[];
}

export interface Verification {
  checked_at: string | null;
  delivery: string | null;
  detail: string | null;
  items: ArtifactItem[];
}

export interface Contract {
  artifacts: { id: string; path: string; required: boolean }[];
}

export interface Artifacts {
  dir: string | null;
  contract: Contract | null;
  verification: Verification | null;
}

export interface View {
  id: string;
  kind: string;
  title: string | null;
  labels: { [name: string]: string };
  version: number;
  state: NormalizedState;
  chain: string;
  effective: string;
  created_at: string | null;
  started_at: string | null;
  entered_at: string | null;
  ended_at: string | null;
  last_activity_at: string | null;
  parent: string | null;
  host: string | null;
  pid: number | null;
  exit: { code: number | null; signal: string | number | null; oom: boolean | null; timed_out: boolean | null };
  timeout: { configured_s: number | null; elapsed_s: number | null };
  artifacts: Artifacts;
  facts: Facts;
  head?: number;
}

export interface LedgerRecord {
  seq: number;
  at: string;
  entity: { kind: string; id: string };
  version: number;
  type: string;
  channel: string;
  from: string | null;
  to: string | null;
  trigger: string | null;
  actor: { type: string; id: string | null };
  reasons: StateReason[];
  cause: Json;
  key: string | null;
  data: Facts;
  hash: string | null;
}

export interface EntityPage {
  items: View[];
  next_cursor: string | null;
  /** Null where counting would mean judging everything there ever was. */
  total: number | null;
  legacy: number;
  head: number;
}

export interface RecordPage {
  items: LedgerRecord[];
  next_after: number | null;
}

export interface AttentionItem {
  fingerprint: string;
  severity: Severity;
  tone: Tone;
  entity: { kind: string; id: string; title: string | null };
  chain: string;
  effective?: string;
  reason: { code: string; message: string } | null;
  cluster: string;
  cluster_size: number;
  first_seen_at: string | null;
  snoozed_until?: string | null;
  dismissed?: boolean;
  actions: { name: string; command: string }[];
}

export interface Attention {
  generated_at: string;
  total: number;
  by_severity: { [severity: string]: number };
  set_aside?: number;
  clear_since?: string | null;
  items: AttentionItem[];
  head: number;
}

export type OutputPiece =
  | { at: string; offset: number; stream: string; text: string; bytes: number }
  | { dropped: number };

export interface Output {
  from: number;
  next: number;
  end: number;
  pieces: OutputPiece[];
}

export interface Word {
  name: string;
  label: string;
  meaning: string;
  icon: string;
  token: string;
  tone?: string;
  glyph?: string;
}

export interface Vocabulary {
  taxonomies: { name: string; values: Word[] }[];
  tokens: { name: string; light: { bg: string; fg: string }; dark: { bg: string; fg: string } }[];
  legacy: { label: string; token: string; icon: string; border: string; tooltip: string };
}

export interface Machine {
  kind: string;
  noun: string;
  meaning: string;
  initial: string[];
  terminal: string[];
  edges: { from: string; to: string; triggers: string[] }[];
  health: string[];
  delivery: string[];
  admin_targets: string[];
  states: Word[];
  triggers: { name: string; meaning: string }[];
  /** Every row, those of the approval desk too, which are no edges of the plain machine. */
  rows?: { from: string; to: string; triggers: string[]; actors: string[]; reasons: string[] }[];
}

export interface Reason {
  code: string;
  entity: string;
  dimension: string;
  meaning: string;
  kind?: string | null;
}

export interface Counts {
  machines: { kind: string; states: { state: string; count: number }[] }[];
  live: number;
  ended_24h: number;
  legacy: number;
}

export interface Trends {
  buckets: { from: string; outcomes: { [outcome: string]: number }; p50_s: number | null; p95_s: number | null }[];
  reasons: { code: string; count: number }[];
  time_in_state: { state: string; p50_s: number | null; p95_s: number | null }[];
}

export interface Health {
  status: string;
  store: Facts;
  runs: { live: number; dead: number; stalled: number; waiting: number };
  writer: Facts;
}

export interface Reaped {
  dry_run: boolean;
  ended: number;
  items: { id: string; title: string | null; act: string; because: string; processes_ended: number }[];
}

export interface Verified {
  ok: boolean;
  records: number;
  problems: { seq: number | null; entity: string | null; problem: string }[];
}

export interface Refusal {
  code: string;
  message: string;
  from: string | null;
  to: string | null;
  allowed: string[];
  help: string;
}
