// Tells a screen reader what came to need somebody. What was there when the page opened is not news.
import { useEffect, useRef, useState } from "react";
import type { Attention } from "../api/types";

export function Announcer({ attention }: { attention: Attention | null }) {
  const known = useRef<Set<string> | null>(null);
  const [polite, setPolite] = useState("");
  const [urgent, setUrgent] = useState("");
  useEffect(() => {
    if (!attention) return;
    const before = known.current;
    known.current = new Set(attention.items.map((item) => item.fingerprint));
    if (before === null) return;
    const fresh = attention.items.filter((item) => !before.has(item.fingerprint));
    const say = (items: typeof fresh) =>
      items.length > 3
        ? `${items.length} new things need you`
        : items.map((item) => `${item.entity.title ?? item.entity.kind}: ${item.chain}`).join(". ");
    const critical = fresh.filter((item) => item.severity === "critical");
    const other = fresh.filter((item) => item.severity !== "critical");
    if (critical.length > 0) setUrgent(say(critical));
    if (other.length > 0) setPolite(say(other));
  }, [attention]);
  return (
    <>
      <div className="hidden" role="alert" aria-live="assertive">
        {urgent}
      </div>
      <div className="hidden" role="status" aria-live="polite">
        {polite}
      </div>
    </>
  );
}
