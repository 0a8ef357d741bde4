// The pill: icon, text and colour together, never colour alone.
//
// Invariant: a value is never shown without the taxonomy it belongs to, because the same word means different things in
// two of them. A row without any status is legacy: dotted, muted, with the sentence that says why.
import type { View } from "../api/types";
import { useWords } from "../state/board";
import type { Pill as PillLook } from "../state/words";
import { Icon } from "./icons";

interface StatusPillProps {
  /** `health`, `delivery`, `outcome`, `severity`, `tone`, or the kind of an entity for its lifecycle. */
  taxonomy: string;
  /** Null is legacy: there was no vocabulary yet. */
  value: string | null;
  dense?: boolean;
}

export function StatusPill({ taxonomy, value, dense = false }: StatusPillProps) {
  const words = useWords();
  if (value === null) return <LegacyPill dense={dense} />;
  return <Drawn look={words.pill(taxonomy, value)} dense={dense} />;
}

/** The pill of an entity as a whole: "stale running" where its health speaks against its state. */
export function EffectivePill({
  view,
  dense = false,
}: {
  view: Pick<View, "kind" | "state" | "effective">;
  dense?: boolean;
}) {
  const words = useWords();
  if (view.state.lifecycle === null && view.state.outcome === null) return <LegacyPill dense={dense} />;
  return <Drawn look={words.effective(view)} dense={dense} />;
}

/** A pill for text the backend made, in the colour of a tone. */
export function TonePill({ tone, text, dense = false }: { tone: string; text: string; dense?: boolean }) {
  const look = useWords().pill("tone", tone);
  return <Drawn look={{ ...look, label: text, title: "" }} dense={dense} />;
}

export function LegacyPill({ dense = false, count }: { dense?: boolean; count?: number }) {
  const legacy = useWords().legacy;
  const label = legacy?.label ?? "legacy";
  const text =
    count === undefined ? label : `${count.toLocaleString("en")} ${label} ${count === 1 ? "session" : "sessions"}`;
  return (
    <span className={`pill legacy tone-neutral ${dense ? "dense" : ""}`} title={legacy?.tooltip ?? ""}>
      <Icon name={legacy?.icon ?? "dash"} />
      <span>{text}</span>
    </span>
  );
}

function Drawn({ look, dense }: { look: PillLook; dense: boolean }) {
  return (
    <span className={`pill tone-${look.token} ${dense ? "dense" : ""}`} title={look.title}>
      <Icon name={look.icon} />
      <span>{look.label}</span>
    </span>
  );
}
