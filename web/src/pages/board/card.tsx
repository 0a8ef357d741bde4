// One task as a card: what it is called, since when it stands where it does, for whom, and what moves it on.
import type { TaskCard } from "../../api/types";
import { Told } from "../../parts/told";
import { Chain } from "../../pill/chain";
import { StatusPill } from "../../pill/pill";
import { entityPath, go, withParams } from "../../route/route";
import { useView, useWords } from "../../state/board";
import { shortId } from "../../time/format";
import { Ago } from "../../time/ticking";

export const cardId = (id: string): string => `card-${id}`;

interface CardProps {
  card: TaskCard;
  titleOf: (id: string) => string | null;
  isCursor: boolean;
  isSelected: boolean;
  onFocus: () => void;
}

export function CardLine({ card, titleOf, isCursor, isSelected, onFocus }: CardProps) {
  const words = useWords();
  const seen = useView(card.id);
  // The view and the board are read one after the other; while they are of two moments, the board counts.
  const view = seen?.state.lifecycle === card.state ? seen : undefined;
  const open = () => go(withParams({ sel: card.id, act: null, at: null }));
  return (
    <li
      className={`card ${view ? `sev-${view.state.severity}` : ""}`}
      data-card={card.id}
      data-state={card.state}
      data-cursor={isCursor || undefined}
      data-selected={isSelected || undefined}
      onFocus={onFocus}
    >
      <div className="card-head">
        <a
          id={cardId(card.id)}
          className="card-title"
          href={entityPath(card.id)}
          onClick={(event) => {
            if (event.metaKey || event.ctrlKey || event.shiftKey) return;
            event.preventDefault();
            open();
          }}
        >
          {card.title ?? shortId(card.id)}
        </a>
        <span className="card-age">
          <Ago at={card.entered_at} />
        </span>
      </div>
      <div className="card-line">
        {view ? <Chain view={view} dense /> : <StatusPill taxonomy="task" value={card.state} dense />}
        <span className="num" title={`priority ${card.priority}; 1 comes first`}>
          P{card.priority}
        </span>
        {card.role && <span title="role">{card.role}</span>}
        <span className="card-scope" title={words.word("scope", card.scope)?.meaning ?? "scope"}>
          {card.scope}
        </span>
      </div>
      <p className="card-next" title={plain(card)}>
        <Next card={card} titleOf={titleOf} />
      </p>
    </li>
  );
}

/** Who holds it and how far it is; otherwise what it waits for; otherwise who moves it on. */
function Next({ card, titleOf }: { card: TaskCard; titleOf: (id: string) => string | null }) {
  if (card.holder)
    return (
      <>
        <Told text={card.holder} titleOf={titleOf} />
        {card.progress && `: ${card.progress}`}
      </>
    );
  if (card.waits_for.length > 0) return <Told text={`waits for ${card.waits_for.join(", ")}`} titleOf={titleOf} />;
  return <Told text={`next: ${card.next_move}`} titleOf={titleOf} />;
}

const plain = (card: TaskCard): string =>
  [card.progress, ...card.waits_for.map((what) => `waits for ${what}`), `next: ${card.next_move}`]
    .filter(Boolean)
    .join("\n");
