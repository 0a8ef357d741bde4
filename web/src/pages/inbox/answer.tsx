// The form that answers a question: its options with their keys, or any text; why; and whether the answer becomes a rule.
import { type KeyboardEvent, useRef, useState } from "react";
import { asProblem, type Problem, post } from "../../api/client";
import type { Question } from "../../api/types";
import { type Key, useKeys } from "../../keys/keys";
import { Refused } from "../../parts/states";
import { visible } from "../../parts/visible";
import { rowId } from "./list";

/** So many options have a key: 1 to 9. */
const KEYED = 9;

export function AnswerForm({ question, onAnswered }: { question: Question; onAnswered: () => void }) {
  const [because, setBecause] = useState("");
  const [always, setAlways] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const form = useRef<HTMLDivElement>(null);
  const isOpen = question.state === "asked";
  const give = async (option: string) => {
    if (busy || !isOpen || option.trim() === "") return;
    setBusy(true);
    setProblem(null);
    const body = { option, ...(because.trim() ? { because: because.trim() } : {}), ...(always ? { always } : {}) };
    try {
      await post<Question>(`/questions/${encodeURIComponent(question.id)}/answer`, body);
      document.getElementById(rowId(question.id))?.focus();
    } catch (error) {
      setProblem(asProblem(error));
    }
    setBusy(false);
    onAnswered();
  };
  const focus = (name: string) => form.current?.querySelector<HTMLElement>(`[name=${name}]`)?.focus();
  useAnswerKeys(question, give, focus);
  return (
    <>
      {problem && <Refused problem={problem} />}
      {isOpen && (
        <div className="act question-answer" ref={form} role="group" aria-label="Answer">
          {question.options.length > 0 ? (
            <Options options={question.options} busy={busy} onGive={give} />
          ) : (
            <FreeText busy={busy} onGive={give} />
          )}
          <label>
            <span>
              Why? Whoever asked is told. <KeyHint of="b" />
            </span>
            <input
              name="because"
              value={because}
              maxLength={500}
              onChange={(event) => setBecause(event.target.value)}
              onKeyDown={leave}
            />
          </label>
          {question.scopes.length > 0 && (
            <Always scopes={question.scopes} chosen={always} onChoose={setAlways} name={question.id} />
          )}
        </div>
      )}
    </>
  );
}

/** The key beside what it does; a screen reader hears the keys from their list. */
const KeyHint = ({ of }: { of: string }) => (
  <span aria-hidden="true">
    <kbd>{of}</kbd>
  </span>
);

/** Escape and enter leave a field and keep what is in it, so that the keys of the page work again. */
function leave(event: KeyboardEvent<HTMLElement>): void {
  if (event.key !== "Escape" && event.key !== "Enter") return;
  event.preventDefault();
  event.currentTarget.blur();
}

function useAnswerKeys(question: Question, give: (option: string) => void, focus: (name: string) => void): void {
  const numbers = question.options
    .slice(0, KEYED)
    .map((option, at): Key => ({ keys: String(at + 1), does: `answer ${visible(option)}`, run: () => give(option) }));
  const keys: Key[] = [
    ...numbers,
    { keys: "b", does: "say why", run: () => focus("because") },
    { keys: "t", does: "write an answer, where there are no options", run: () => focus("answer") },
  ];
  useKeys(keys);
}

function Options({ options, busy, onGive }: { options: string[]; busy: boolean; onGive: (option: string) => void }) {
  return (
    <div className="question-options">
      {options.map((option, at) => (
        <button key={option} type="button" disabled={busy} onClick={() => onGive(option)}>
          {at < KEYED && <KeyHint of={String(at + 1)} />}
          {visible(option)}
        </button>
      ))}
    </div>
  );
}

function FreeText({ busy, onGive }: { busy: boolean; onGive: (option: string) => void }) {
  const [text, setText] = useState("");
  return (
    <>
      <label>
        <span>
          Your answer; enter sends it, shift and enter begin a line. <KeyHint of="t" />
        </span>
        <textarea
          name="answer"
          rows={3}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
              event.preventDefault();
              onGive(text);
            } else if (event.key === "Escape") leave(event);
          }}
        />
      </label>
      <div className="act-end">
        <button type="button" className="strong" disabled={busy || text.trim() === ""} onClick={() => onGive(text)}>
          Answer
        </button>
      </div>
    </>
  );
}

interface AlwaysProps {
  scopes: Question["scopes"];
  chosen: string | null;
  onChoose: (scope: string | null) => void;
  name: string;
}

/** An answer holds for its question alone, unless somebody chooses more and reads what that covers. */
function Always({ scopes, chosen, onChoose, name }: AlwaysProps) {
  return (
    <fieldset className="question-always">
      <legend>The answer holds for</legend>
      <label className="check">
        <input type="radio" name={name} checked={chosen === null} onChange={() => onChoose(null)} />
        this question only
      </label>
      {scopes.map(({ scope, covers }) => (
        <label key={scope} className="check">
          <input type="radio" name={name} checked={chosen === scope} onChange={() => onChoose(scope)} />
          <span>
            always: <code>{visible(covers)}</code>
          </span>
        </label>
      ))}
      {chosen !== null && (
        <p className="soft">
          This makes a standing rule: it answers every such question in your name until it is revoked.
        </p>
      )}
    </fieldset>
  );
}
