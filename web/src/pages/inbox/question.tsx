// One question, whole, and the means to answer it.
//
// Invariant: what an agent wrote is shown as text and never acted upon. An answer is given to the question that is shown, by
// its id; where somebody else was first, the page says who and what.
import type { ReactNode } from "react";
import type { Question } from "../../api/types";
import { CopyId, CopyLine } from "../../parts/copy";
import { Skeleton, Trouble } from "../../parts/states";
import { Named } from "../../parts/told";
import { visible } from "../../parts/visible";
import { TonePill } from "../../pill/pill";
import { Link } from "../../route/link";
import { entityPath } from "../../route/route";
import { useWords } from "../../state/board";
import { useQuestion } from "../../state/inbox";
import { Absolute, Ago } from "../../time/ticking";
import { AnswerForm } from "./answer";
import { Left, onExpiry, outcome, Who } from "./words";

interface PaneProps {
  id: string;
  /** The question as the list has it, until it is read. */
  known: Question | null;
  onClose: () => void;
}

export function QuestionPane({ id, known, onClose }: PaneProps) {
  const read = useQuestion(id);
  const question = read.data ?? known;
  return (
    <div className="pane">
      <div className="close-bar">
        <Link to={entityPath(id)} className="quiet-link">
          Open its records
        </Link>
        <button type="button" className="quiet" onClick={onClose} title="Escape">
          Close
        </button>
      </div>
      {question ? (
        <article aria-label="Question" data-question={id} data-state={question.state}>
          <h2 className="question-text">{visible(question.text)}</h2>
          {question.context && (
            <pre className="bytes question-context" tabIndex={0}>
              {visible(question.context)}
            </pre>
          )}
          <Became question={question} />
          <AnswerForm question={question} onAnswered={read.reload} />
          <Facts question={question} />
          <CopyLine line={`callboard answer ${id}`} />
        </article>
      ) : read.problem ? (
        <Trouble problem={read.problem} onRetry={read.reload} />
      ) : (
        <Skeleton rows={6} />
      )}
    </div>
  );
}

/** What became of it: who answered what, and why. */
function Became({ question }: { question: Question }) {
  const became = outcome(question);
  return (
    <div role="status">
      {became && (
        <p className="question-became">
          <TonePill tone="neutral" text={question.state} dense /> {became}
          {question.because && <span className="soft">, because {visible(question.because)}</span>}
        </p>
      )}
    </div>
  );
}

function Facts({ question }: { question: Question }) {
  const { subject } = question;
  const words = useWords();
  return (
    <dl className="facts question-facts">
      {subject && (
        <Row name="about">
          {words.noun(subject.kind)} <Link to={entityPath(subject.id)}>{visible(subject.title ?? subject.id)}</Link>
        </Row>
      )}
      <Row name="asked by">
        <Who name={question.asked_by} />
      </Row>
      <Row name="asked">
        <Ago at={question.asked_at} /> ago, at <Absolute at={question.asked_at} />
      </Row>
      {question.expires_at && (
        <Row name="expires">
          <Absolute at={question.expires_at} />
          {question.state === "asked" && (
            <span className="soft">
              , <Left question={question} />; {onExpiry(question)}
            </span>
          )}
        </Row>
      )}
      {question.ended_at && (
        <Row name={question.state}>
          <Absolute at={question.ended_at} />
        </Row>
      )}
      {question.rule && (
        <Row name="rule">
          <Named id={question.rule} />
        </Row>
      )}
      {question.answerers.length > 0 && <Row name="may answer">{question.answerers.map(visible).join(", ")}</Row>}
      <Row name="id">
        <CopyId id={question.id} />
      </Row>
    </dl>
  );
}

function Row({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
