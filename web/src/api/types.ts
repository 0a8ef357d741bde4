// The documents of the HTTP API. Those that the server describes are taken from its OpenAPI document (`npm run types`); the
// others are written down here.
//
// Invariant: unknown is null, and never left out of an answer. Words of vocabularies (states, healths, tones) are plain
// strings: the page learns them from /vocabulary and /machines and has no list of its own.
import type { components } from "./openapi";

type Described = components["schemas"];

/** What an answer holds: the document calls optional what may be null, and the server always sends it. */
type Sent<T> = T extends readonly (infer One)[]
  ? Sent<One>[]
  : T extends object
    ? { [Name in keyof T]-?: Sent<Exclude<T[Name], undefined>> }
    : T;
/** The same with some fields known better: the document leaves open what other crates put into them. */
type But<T, Better> = Omit<T, keyof Better> & Better;

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type Facts = { [name: string]: Json };

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

export type StateReason = But<Sent<Described["Reason"]>, { evidence: EvidenceRef[] }>;
export type NormalizedState = But<Sent<Described["NormalizedState"]>, { reasons: StateReason[] }>;

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

export type View = But<
  Sent<Described["View"]>,
  {
    labels: { [name: string]: string };
    state: NormalizedState;
    host: string | null;
    pid: number | null;
    exit: { code: number | null; signal: string | number | null; oom: boolean | null; timed_out: boolean | null };
    artifacts: Artifacts;
    facts: Facts;
  }
>;

/** A record that was recorded alone has no group, and one of a row without guards names none. */
export type LedgerRecord = But<
  Sent<Described["Record"]>,
  { reasons: StateReason[]; data: Facts; group?: Described["GroupMember"]; guards?: string[] }
>;
export type EntityPage = But<Sent<Described["EntityPage"]>, { items: View[] }>;
export type RecordPage = But<Sent<Described["RecordPage"]>, { items: LedgerRecord[] }>;
export type AttentionItem = Sent<Described["AttentionItem"]>;
export type Attention = Sent<Described["Attention"]>;
export type OutputPiece = Sent<Described["OutputPiece"]>;
export type Output = Sent<Described["OutputPage"]>;
export type Counts = Sent<Described["CountsAnswer"]>;
export type Trends = Sent<Described["Report"]>;
export type Health = But<Sent<Described["HealthAnswer"]>, { store: Facts }>;
export type Services = Sent<Described["ServicesAnswer"]>;
export type Refusal = Sent<Described["Refusal"]>;

export type TaskCard = Sent<Described["TaskCard"]>;
export type TaskBoard = Sent<Described["Board"]>;
export type Worker = Sent<Described["Worker"]>;
export type Workers = Sent<Described["Workers"]>;
export type FileDiff = Sent<Described["FileDiff"]>;
export type TaskDiff = Sent<Described["TaskDiff"]>;
export type Question = Sent<Described["Question"]>;
export type Inbox = Sent<Described["Inbox"]>;
export type Rule = Sent<Described["Rule"]>;
export type Rules = Sent<Described["Rules"]>;
/** What one check of a task found. */
export interface Verdict {
  what: string | null;
  passed: boolean | null;
  detail: string | null;
}
/** The story has the fields of a view, too; the page reads those from the entity, which the feed keeps fresh. */
export type TaskStory = But<
  Pick<Sent<Described["TaskStory"]>, "next_move" | "claims" | "turns" | "runs" | "questions" | "merge" | "subtasks">,
  { verdicts: Verdict[] }
>;

/** What an order may say. */
export type Move = Described["Move"];
export type RunRequest = Described["RunRequest"];
export type Started = Sent<Described["Started"]>;

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
