// The words of the server, looked up: every state, health and tone with its label, icon and colour token.
//
// Invariant: a word belongs to a taxonomy, and the same word in two taxonomies never borrows the other's pill. A word the
// server did not declare is shown as it is, in the neutral token. The states of a machine are the taxonomy of its kind.
import type { Machine, Reason, View, Vocabulary, Word } from "../api/types";

export interface Pill {
  label: string;
  icon: string;
  token: string;
  title: string;
}

export class Words {
  readonly machines: Machine[];
  readonly reasons: Map<string, Reason>;
  readonly legacy: Vocabulary["legacy"] | null;
  readonly #taxonomies = new Map<string, Map<string, Word>>();
  readonly #machines = new Map<string, Machine>();

  constructor(vocabulary: Vocabulary | null, machines: Machine[], reasons: Reason[]) {
    this.machines = machines;
    this.legacy = vocabulary?.legacy ?? null;
    this.reasons = new Map(reasons.map((reason) => [reason.code, reason]));
    for (const taxonomy of vocabulary?.taxonomies ?? []) this.#add(taxonomy.name, taxonomy.values);
    for (const machine of machines) {
      this.#add(machine.kind, machine.states);
      this.#machines.set(machine.kind, machine);
    }
  }

  #add(taxonomy: string, words: Word[]): void {
    this.#taxonomies.set(taxonomy, new Map(words.map((word) => [word.name, word])));
  }

  machine(kind: string): Machine | undefined {
    return this.#machines.get(kind);
  }

  /** What people call a kind: a session is a run. */
  noun(kind: string): string {
    return this.#machines.get(kind)?.noun ?? kind;
  }

  word(taxonomy: string, value: string): Word | undefined {
    return this.#taxonomies.get(taxonomy)?.get(value);
  }

  values(taxonomy: string): Word[] {
    return [...(this.#taxonomies.get(taxonomy)?.values() ?? [])];
  }

  label(taxonomy: string, value: string): string {
    return this.word(taxonomy, value)?.label ?? value;
  }

  pill(taxonomy: string, value: string): Pill {
    const word = this.word(taxonomy, value);
    if (!word) return { label: value, icon: "question", token: "neutral", title: "" };
    return { label: word.label, icon: word.icon, token: word.token, title: word.meaning };
  }

  /**
   * The pill of an entity: its effective word, in the colour of its tone. Where the tone is the state's own, the state's
   * token stays, which knows more colours than the tones do. Where the effective word is not the state's label, the
   * health speaks, and lends its icon; where it is the phase, the phase does.
   */
  effective(view: Pick<View, "kind" | "state" | "effective">): Pill {
    const { lifecycle, health, phase, tone } = view.state;
    const state = lifecycle === null ? undefined : this.word(view.kind, lifecycle);
    const own = phase?.name === view.effective ? this.word("phase", phase.name) : undefined;
    const spoken = own ?? (health ? this.word("health", health) : undefined);
    const doubt = state && state.label !== view.effective ? spoken : undefined;
    const toneToken = this.word("tone", tone)?.token ?? "neutral";
    return {
      label: view.effective,
      icon: doubt?.icon ?? state?.icon ?? "question",
      token: state && state.tone === tone && !doubt ? state.token : toneToken,
      title: doubt?.meaning ?? state?.meaning ?? "",
    };
  }
}
