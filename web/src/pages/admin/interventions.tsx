// The intervention queue: what no longer goes on by itself.
import { get, query } from "../../api/client";
import type { EntityPage, View } from "../../api/types";
import { Section } from "../../parts/section";
import { Refused } from "../../parts/states";
import { Chain } from "../../pill/chain";
import { Link } from "../../route/link";
import { entityPath } from "../../route/route";
import { useDocument } from "../../state/board";
import { count } from "../../time/format";
import { Ago } from "../../time/ticking";

/** The healths for which somebody, or the reaper, has to do something. */
const STUCK = ["process_dead", "orphaned", "disconnected", "stalled"];
const EACH = 20;

export function Interventions() {
  const read = useDocument(
    async (signal) => {
      const pages = await Promise.all(
        STUCK.map((health) => get<EntityPage>(`/entities${query({ health, limit: EACH })}`, signal)),
      );
      return {
        items: pages.flatMap((page) => page.items),
        total: pages.reduce((sum, page) => sum + (page.total ?? page.items.length), 0),
      };
    },
    "interventions",
    { on: (record) => record.type !== "observed", atMostEveryMs: 2000, alsoEveryMs: 15_000 },
  );
  return (
    <Section title="Intervention queue" aside={read.data ? count(read.data.total) : ""}>
      {read.problem && <Refused problem={read.problem} />}
      {read.data?.items.length === 0 && <p className="faint">Nothing is dead, orphaned, cut off or stalled.</p>}
      <ul className="queue">
        {read.data?.items.map((view: View) => (
          <li key={view.id} className={`sev-${view.state.severity}`}>
            <Link to={entityPath(view.id)} className="cut">
              {view.title ?? view.id}
            </Link>
            <Chain view={view} dense />
            <span className="faint queue-age">
              <Ago at={view.last_activity_at} />
            </span>
            {view.ended_at === null && (
              <Link
                to={`${entityPath(view.id)}?act=${view.state.health === "stalled" ? "stop" : "transition"}`}
                className="button"
              >
                {view.state.health === "stalled" ? "Stop" : "End by hand"}
              </Link>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}
