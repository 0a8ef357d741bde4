// The end of what a run wrote, followed while it runs.
//
// Invariant: output is text, whatever bytes it is made of. At most so many lines are kept in the page; the whole of it is
// one click or one command away.
import { useEffect, useRef, useState } from "react";
import { asProblem, BASE, get, type Problem } from "../../api/client";
import type { Output, OutputPiece, View } from "../../api/types";
import { CopyLine } from "../../parts/copy";
import { Section } from "../../parts/section";
import { Refused } from "../../parts/states";
import { bytes, clock } from "../../time/format";
import { plain } from "./ansi";

const TAIL_BYTES = 32_768;
const KEPT = 600;
const EVERY_MS = 1000;

interface Tail {
  pieces: OutputPiece[];
  from: number;
  end: number;
}

function useTail(id: string, isLive: boolean): { tail: Tail | null; problem: Problem | null } {
  const [tail, setTail] = useState<Tail | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const next = useRef<number | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const path = `/entities/${encodeURIComponent(id)}/output`;
    const read = async () => {
      try {
        if (next.current === null) {
          const probe = await get<Output>(`${path}?from=0&limit=1`, stop.signal);
          next.current = Math.max(0, probe.end - TAIL_BYTES);
        }
        const from = next.current;
        const output = await get<Output>(`${path}?from=${from}&limit=${TAIL_BYTES * 2}`, stop.signal);
        next.current = output.next;
        setProblem(null);
        setTail((was) => {
          if (was && output.pieces.length === 0) return was;
          return {
            pieces: [...(was?.pieces ?? []), ...output.pieces].slice(-KEPT),
            from: was?.from ?? from,
            end: output.end,
          };
        });
      } catch (error) {
        if (!stop.signal.aborted) setProblem(asProblem(error));
      }
      if (isLive && !stop.signal.aborted) timer = setTimeout(read, EVERY_MS);
    };
    void read();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [id, isLive]);
  return { tail, problem };
}

export function OutputTail({ view }: { view: View }) {
  const isLive = view.ended_at === null;
  const hasOutput = "output" in view.facts || "argv" in view.facts;
  if (!hasOutput) return null;
  return <ShownTail view={view} isLive={isLive} />;
}

function ShownTail({ view, isLive }: { view: View; isLive: boolean }) {
  const { tail, problem } = useTail(view.id, isLive);
  const box = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it scrolls when there is more to read
  useEffect(() => {
    if (follows.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [tail]);
  const raw = (stream: string) => `${BASE}/entities/${encodeURIComponent(view.id)}/output/${stream}`;
  return (
    <Section title="Output" aside={tail ? `${bytes(tail.end)}${isLive ? ", followed" : ""}` : ""}>
      {problem && problem.status !== 404 && <Refused problem={problem} />}
      {tail && tail.pieces.length === 0 && <p className="faint">It has written nothing{isLive ? " yet" : ""}.</p>}
      {tail && tail.pieces.length > 0 && (
        <div
          className="output"
          ref={box}
          tabIndex={0}
          role="log"
          aria-label="Output"
          aria-live="off"
          onScroll={({ currentTarget: at }) => {
            follows.current = at.scrollHeight - at.scrollTop - at.clientHeight < 8;
          }}
        >
          {tail.from > 0 && <div className="output-note">{bytes(tail.from)} before this</div>}
          {tail.pieces.map((piece, at) => (
            <Piece key={"offset" in piece ? `${piece.stream} ${piece.offset}` : `dropped ${at}`} piece={piece} />
          ))}
        </div>
      )}
      <p className="faint">
        The whole of it, byte for byte: <a href={raw("stdout")}>stdout</a>, <a href={raw("stderr")}>stderr</a>
      </p>
      <CopyLine line={`callboard logs ${view.id}${isLive ? " --follow" : ""}`} />
    </Section>
  );
}

function Piece({ piece }: { piece: OutputPiece }) {
  if ("dropped" in piece) return <div className="output-note">{bytes(piece.dropped)} were dropped here</div>;
  return (
    <div
      className={`output-piece ${piece.stream === "stderr" ? "err" : ""}`}
      title={`${piece.stream}, ${clock(piece.at)}`}
    >
      {plain(piece.text).replace(/\n$/, "")}
    </div>
  );
}
