// The rows of questions: one sentence each.
import type { Question } from "../../api/types";
import { visible } from "../../parts/visible";
import { Ago } from "../../time/ticking";
import { aboutText, Left, outcome, WhoText } from "./words";

interface ListProps {
  name: string;
  questions: Question[];
  cursor: string | null;
  selected: string | null;
  /** Questions of the past are told by what became of them. */
  isPast: boolean;
  onCursor: (id: string) => void;
  onOpen: (id: string) => void;
}

export const rowId = (id: string): string => `row-${id}`;

export function QuestionList({ name, questions, cursor, selected, isPast, onCursor, onOpen }: ListProps) {
  return (
    <ul className="board" aria-label={name}>
      {questions.map((question) => (
        <li
          key={question.id}
          className="row"
          data-question={question.id}
          data-state={question.state}
          data-cursor={question.id === cursor || undefined}
          data-selected={question.id === selected || undefined}
          data-done={(!isPast && question.state !== "asked") || undefined}
          onFocus={() => question.id !== cursor && onCursor(question.id)}
        >
          <Row question={question} isCursor={question.id === cursor} onOpen={onOpen} />
        </li>
      ))}
    </ul>
  );
}

interface RowProps {
  question: Question;
  isCursor: boolean;
  onOpen: (id: string) => void;
}

function Row({ question, isCursor, onOpen }: RowProps) {
  const became = outcome(question);
  return (
    <div className="row-line question-line">
      <a
        id={rowId(question.id)}
        className="row-title"
        // One stop for the tab key: the panel, which follows the focus, comes right after the row that it shows.
        tabIndex={isCursor ? 0 : -1}
        href={`/inbox?sel=${question.id}`}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey) return;
          event.preventDefault();
          onOpen(question.id);
        }}
      >
        <span className="cut" title={visible(question.text)}>
          {visible(question.text)}
        </span>
      </a>
      {became === null ? (
        <>
          <span className="row-about cut" title={aboutText(question)}>
            {aboutText(question)}
          </span>
          <span className="row-left">
            <Left question={question} />
          </span>
        </>
      ) : (
        <span className="row-became cut" title={became}>
          {became}
        </span>
      )}
      <span className="row-asker cut">
        <WhoText name={question.asked_by} />
      </span>
      <span className="row-age">
        <Ago at={question.asked_at} />
      </span>
    </div>
  );
}
