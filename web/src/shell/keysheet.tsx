// The list of keys, as a side panel. It lists what the shown page knows, not what was once written down.
import { useEffect, useRef } from "react";
import { useKeys, useListedKeys } from "../keys/keys";

export function KeySheet({ onClose }: { onClose: () => void }) {
  const keys = useListedKeys();
  useKeys([{ keys: "Escape", does: "close this list", run: onClose }]);
  const close = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    close.current?.focus();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const seen = new Set<string>();
  // Of a key that two know, the newest counts.
  const rows = keys
    .toReversed()
    .filter((key) => !seen.has(key.keys) && seen.add(key.keys))
    .reverse();
  return (
    <aside className="sheet" aria-label="Keys">
      <header>
        <h2>Keys</h2>
        <button type="button" className="quiet" ref={close} onClick={onClose} title="Escape">
          Close
        </button>
      </header>
      <dl>
        {rows.map((key) => (
          <div key={key.keys}>
            <dt>
              {key.keys.split(" ").map((one) => (
                <kbd key={one}>{one}</kbd>
              ))}
            </dt>
            <dd>{key.does}</dd>
          </div>
        ))}
      </dl>
    </aside>
  );
}
