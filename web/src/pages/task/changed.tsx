// What a task changed: its merge file by file, or its work so far.
//
// Invariant: what was left out is said. Deliberately absent: reading a repository; the server does that, if it is on its host.
import { useState } from "react";
import { get } from "../../api/client";
import type { FileDiff, TaskDiff, TaskStory } from "../../api/types";
import { CopyText } from "../../parts/copy";
import { Section } from "../../parts/section";
import { Refused, Skeleton } from "../../parts/states";
import { useDocument } from "../../state/board";
import { count } from "../../time/format";
import { LINES_OPEN, LINES_SHOWN, patchLines, visible } from "./patch";

/** So many files may be open at first. */
const FILES_OPEN = 10;

export function Changed({ id, merge }: { id: string; merge: TaskStory["merge"] }) {
  const isThere = merge.commit !== null || merge.branch !== null;
  const read = useDocument(
    (signal) => get<TaskDiff>(`/tasks/${encodeURIComponent(id)}/diff`, signal),
    isThere ? `diff ${id} ${merge.commit}` : null,
    { on: ({ entity, type }) => merge.commit === null && entity.id === id && type !== "observed" },
  );
  if (!isThere) return null;
  const { data, problem } = read;
  return (
    <Section title="What it changed" aside={data && <Total diff={data} />}>
      {problem ? <Refused problem={problem} /> : !data && <Skeleton rows={3} />}
      {data && !problem && <Files diff={data} />}
    </Section>
  );
}

function Total({ diff }: { diff: TaskDiff }) {
  const sum = (of: "added" | "removed") => diff.files.reduce((all, file) => all + (file[of] ?? 0), 0);
  return (
    <>
      {count(diff.files_total)} {diff.files_total === 1 ? "file" : "files"}{" "}
      <Lines added={sum("added")} removed={sum("removed")} />
    </>
  );
}

function Lines({ added, removed }: { added: number | null; removed: number | null }) {
  if (added === null || removed === null) return <span className="diff-count faint">not text</span>;
  return (
    <span className="diff-count num">
      <span className="diff-added">+{count(added)}</span> <span className="diff-removed">−{count(removed)}</span>
    </span>
  );
}

function Files({ diff }: { diff: TaskDiff }) {
  const left = diff.files_total - diff.files.length;
  return (
    <>
      <p className="faint">
        {diff.is_merged ? "Merged as " : "Not merged: the work so far, "}
        <CopyText text={diff.tip} shown={diff.tip.slice(0, 12)} /> on top of{" "}
        <CopyText text={diff.base} shown={diff.base.slice(0, 12)} />
      </p>
      {diff.files.length === 0 && <p className="faint">It changed no file.</p>}
      {diff.files.map((file, at) => (
        <File key={file.path} file={file} mayOpen={at < FILES_OPEN} />
      ))}
      {left > 0 && <p className="diff-cut">{count(left)} more files are not listed.</p>}
    </>
  );
}

function File({ file, mayOpen }: { file: FileDiff; mayOpen: boolean }) {
  const lines = file.patch === null ? [] : patchLines(file.patch);
  const [isOpen, setOpen] = useState(mayOpen && lines.length <= LINES_OPEN);
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? lines : lines.slice(0, LINES_SHOWN);
  return (
    <details className="diff-file" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span className="diff-path">
          {file.old_path && (
            <>
              <code>{visible(file.old_path)}</code>
              {" → "}
            </>
          )}
          <code>{visible(file.path)}</code>
        </span>
        <span className="faint">{file.status}</span>
        <Lines added={file.added} removed={file.removed} />
      </summary>
      {isOpen && (
        <>
          {shown.length > 0 && (
            <pre className="diff-lines">
              {shown.map((line, at) => (
                <span key={at} className={line.kind}>
                  {line.text}
                </span>
              ))}
            </pre>
          )}
          {lines.length > shown.length && (
            <button type="button" onClick={() => setWhole(true)}>
              Show {count(lines.length - shown.length)} more lines
            </button>
          )}
          {file.is_cut && (
            <p className="diff-cut">
              {file.patch === null ? "The patch is left out" : "The end is left out"}: it is too long. callboard task
              diff shows more.
            </p>
          )}
        </>
      )}
    </details>
  );
}
