// What a page shows when it has nothing to show: it is loading, it is empty, or something is wrong. Each says what this is,
// why it is so, and the one thing to do next.
import type { ReactNode } from "react";
import type { Problem } from "../api/client";

export function Skeleton({ rows }: { rows: number }) {
  return (
    <div className="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, at) => (
        <div key={at} className={`skeleton-row w${at % 4}`} />
      ))}
    </div>
  );
}

interface EmptyProps {
  title: string;
  because: string;
  /** It is the whole page, so its title is the page's. */
  isPage?: boolean;
  children?: ReactNode;
}

export function Empty({ title, because, isPage = false, children }: EmptyProps) {
  const Title = isPage ? "h1" : "h2";
  return (
    <div className="empty">
      <Title>{title}</Title>
      <p>{because}</p>
      {children}
    </div>
  );
}

export function Trouble({ problem, onRetry }: { problem: Problem; onRetry?: () => void }) {
  return (
    <div className="empty" role="alert">
      <h2>{problem.title}</h2>
      {problem.detail && <p>{problem.detail}</p>}
      {problem.help && <p>{problem.help}</p>}
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** The same, small, beside a form or inside a section. */
export function Refused({ problem }: { problem: Problem }) {
  return (
    <p className="refused" role="alert">
      <strong>{problem.title}.</strong> {problem.detail} {problem.help}
      {problem.refused && problem.refused.allowed.length > 0 && (
        <> Allowed from here: {problem.refused.allowed.join(", ")}.</>
      )}
    </p>
  );
}
