// Admin: is the system sound, who needs a hand, and the upkeep of the store.
import { get } from "../../api/client";
import type { Facts, Health } from "../../api/types";
import { Section } from "../../parts/section";
import { Skeleton, Trouble } from "../../parts/states";
import { LegacyPill, TonePill } from "../../pill/pill";
import { Link } from "../../route/link";
import { useDocument } from "../../state/board";
import { bytes, count, UNKNOWN } from "../../time/format";
import { Interventions } from "./interventions";
import { Reap } from "./reap";
import { Services } from "./services";
import { Upkeep } from "./upkeep";

export function AdminPage() {
  const read = useDocument((signal) => get<Health>("/health", signal), "health", {
    on: (record) => record.type !== "observed",
    atMostEveryMs: 2000,
    alsoEveryMs: 10_000,
  });
  const health = read.data;
  const info = useDocument((signal) => get<Facts>("/admin/info", signal), "info", {
    on: (record) => record.type !== "observed",
    atMostEveryMs: 2000,
  });
  const store = info.data ?? health?.store ?? {};
  const reload = () => {
    read.reload();
    info.reload();
  };
  return (
    <div className="admin">
      <header className="page-head">
        <h1>Admin</h1>
        {health && <TonePill tone={health.status === "ok" ? "success" : "warning"} text={health.status} />}
      </header>
      {!health && (read.problem ? <Trouble problem={read.problem} onRetry={read.reload} /> : <Skeleton rows={8} />)}
      {health && (
        <div className="admin-grid">
          <div>
            <Runs health={health} />
            <Interventions />
            <Reap onDone={reload} />
            <Services />
          </div>
          <div>
            <Store store={store} writer={health.writer} />
            <Upkeep legacy={typeof store.legacy === "number" ? store.legacy : null} onDone={reload} />
          </div>
        </div>
      )}
    </div>
  );
}

function Runs({ health }: { health: Health }) {
  const tiles = [
    { name: "alive", value: health.runs.live, to: "/fleet?kind=session" },
    { name: "dead", value: health.runs.dead, to: "/fleet?kind=session&health=process_dead" },
    { name: "stalled", value: health.runs.stalled, to: "/fleet?kind=session&health=stalled" },
    { name: "waiting for a person", value: health.runs.waiting, to: "/" },
  ];
  return (
    <Section title="Runs">
      <ul className="tiles">
        {tiles.map((tile) => (
          <li key={tile.name}>
            <Link to={tile.to}>
              <span className="tile-value num">{count(tile.value)}</span>
              <span className="soft">{tile.name}</span>
            </Link>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Store({ store, writer }: { store: Facts; writer: Facts | null }) {
  const legacy = typeof store.legacy === "number" ? store.legacy : 0;
  const shown = (name: string, value: Facts[string]): string => {
    if (typeof value === "number") return name.endsWith("bytes") ? bytes(value) : count(value);
    if (value === null) return UNKNOWN;
    if (Array.isArray(value)) return value.map((one) => shown(name, one)).join(", ") || "none";
    return typeof value === "object" ? JSON.stringify(value) : String(value);
  };
  return (
    <Section title="Store" aside={legacy > 0 && <LegacyPill count={legacy} dense />}>
      <dl className="facts">
        {[
          ...Object.entries(store),
          ...Object.entries(writer ?? {}).map(([name, value]) => [`writer ${name}`, value] as const),
        ].map(([name, value]) => (
          <div key={name}>
            <dt>{name.replaceAll("_", " ")}</dt>
            <dd className="num">{shown(name, value)}</dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}
