// Ids and commands that are copied by a click. The text itself says that it was copied; there is nothing to dismiss.
import { useEffect, useState } from "react";
import { shortId } from "../time/format";

function useCopy(text: string): [boolean, () => void] {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = () => {
    if (navigator.clipboard) void navigator.clipboard.writeText(text).then(() => setCopied(true));
  };
  return [copied, copy];
}

export function CopyId({ id }: { id: string }) {
  const [copied, copy] = useCopy(id);
  return (
    <button type="button" className="id" onClick={copy} title={`${id}, click to copy`}>
      {copied ? "copied" : shortId(id)}
      <span className="hidden">, copy the id</span>
    </button>
  );
}

/** A path, a commit or a branch, whole or as it is read. */
export function CopyText({ text, shown = text }: { text: string; shown?: string }) {
  const [copied, copy] = useCopy(text);
  return (
    <button type="button" className="id text" onClick={copy} title={`${text}, click to copy`}>
      {copied ? "copied" : shown}
    </button>
  );
}

export function CopyLine({ line }: { line: string }) {
  const [copied, copy] = useCopy(line);
  return (
    <button type="button" className="line" onClick={copy} title="Click to copy">
      <span className="prompt" aria-hidden="true">
        $
      </span>
      <code>{line}</code>
      <span className="line-end">{copied ? "copied" : "copy"}</span>
    </button>
  );
}
