// The chain as a row shows it: the pill carries the first segment, the rest is plain text.
//
// Invariant: the chain is the backend's text. Where the effective word says more than the first segment, it takes its
// place; where no effective word is known yet, the pill takes the first two segments, so "Running" never stands alone.
import type { AttentionItem, View } from "../api/types";
import { EffectivePill, TonePill } from "./pill";

const BETWEEN = " · ";

export function Chain({
  view,
  dense = false,
}: {
  view: Pick<View, "kind" | "state" | "effective" | "chain">;
  dense?: boolean;
}) {
  const effective = view.effective.toLowerCase();
  const rest = view.chain
    .split(BETWEEN)
    .slice(1)
    .map((part) => unsaid(part, effective))
    .filter((part) => part !== "");
  return (
    <span className="chain">
      <EffectivePill view={view} dense={dense} />
      {rest.length > 0 && <span className="chain-rest">{BETWEEN + rest.join(BETWEEN)}</span>}
    </span>
  );
}

/** What a segment says beyond the pill: "stalled running · Stalled" says it twice, "stopping · by alice" does not. */
function unsaid(part: string, effective: string): string {
  const [, word = part, detail = ""] = /^(.*?) \((.*)\)$/.exec(part) ?? [];
  return effective.includes(word.toLowerCase()) ? detail : part;
}

/**
 * The chain of an attention item, with its entity's view if that is known. Without it the pill takes the first two
 * segments.
 */
export function ItemChain({ item, view }: { item: AttentionItem; view: View | undefined }) {
  if (view && view.chain === item.chain) return <Chain view={view} dense />;
  const parts = item.chain.split(BETWEEN);
  const rest = parts.slice(2);
  return (
    <span className="chain">
      <TonePill tone={item.tone} text={parts.slice(0, 2).join(BETWEEN)} dense />
      {rest.length > 0 && <span className="chain-rest">{BETWEEN + rest.join(BETWEEN)}</span>}
    </span>
  );
}
