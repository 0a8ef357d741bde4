// Asks the server and reads its answers, errors included.
//
// Invariant: every failure is a `Problem` that says what failed and what to do next, also when the server cannot be
// reached. Every order carries an idempotency key, so sending it twice does it once.
import type { Refusal } from "./types";

export const BASE = "/api/v1";

/** What went wrong, as RFC 9457 has it. Status 0 means that no answer came. */
export class Problem extends Error {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly help: string;
  readonly refused: Refusal | null;

  constructor(status: number, title: string, detail: string, help: string, refused: Refusal | null = null) {
    super(detail || title);
    this.name = "Problem";
    this.status = status;
    this.title = title;
    this.detail = detail;
    this.help = help;
    this.refused = refused;
  }
}

export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const detail = error instanceof Error ? error.message : String(error);
  return new Problem(
    0,
    "The server cannot be reached",
    detail,
    "Start it again with callboard serve; the page reconnects by itself.",
  );
}

/** Reads the problem document of an answer, or makes one where a proxy or a crash left none. */
export async function problemOf(answer: Response): Promise<Problem> {
  const said = await answer.json().catch(() => null);
  const doc = said !== null && typeof said === "object" ? (said as Record<string, unknown>) : {};
  const text = (name: string) => (typeof doc[name] === "string" ? (doc[name] as string) : "");
  const refused = (doc.refused ?? null) as Refusal | null;
  const title = text("title") || `The server answered ${answer.status}`;
  return new Problem(answer.status, title, refused?.message ?? text("detail"), refused?.help ?? text("help"), refused);
}

async function send(path: string, init: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(BASE + path, { credentials: "same-origin", ...init });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw asProblem(error);
  }
  if (!answer.ok) throw await problemOf(answer);
  return answer;
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const answer = await send(path, signal ? { signal } : {});
  return (await answer.json()) as T;
}

/** The first bytes of something raw, as text, and whether there is more of it. */
export async function getBytes(
  path: string,
  limit: number,
  signal?: AbortSignal,
): Promise<{ text: string; more: boolean }> {
  const headers = { Range: `bytes=0-${limit - 1}` };
  const answer = await send(path, signal ? { headers, signal } : { headers });
  const bytes = await answer.arrayBuffer();
  const total = Number(answer.headers.get("content-range")?.split("/")[1] ?? bytes.byteLength);
  return { text: new TextDecoder().decode(bytes.slice(0, limit)), more: total > limit || bytes.byteLength > limit };
}

export async function post<T>(path: string, body: unknown, key: string = freshKey()): Promise<T> {
  const isText = typeof body === "string";
  const answer = await send(path, {
    method: "POST",
    headers: { "Content-Type": isText ? "application/x-ndjson" : "application/json", "Idempotency-Key": key },
    body: isText ? body : JSON.stringify(body),
  });
  return (await answer.json()) as T;
}

/** A key no other order has. `crypto.randomUUID` is missing where the page is not a secure context. */
export function freshKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function query(params: Record<string, string | number | boolean | null | undefined>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== null && value !== undefined && value !== "" && value !== false) search.append(name, String(value));
  }
  const text = search.toString();
  return text ? `?${text}` : "";
}
