// Attention: what needs somebody, the most urgent first, with what can be done about it right there.
import { useMemo, useState } from "react";
import { ManyForm } from "../../acts/panel";
import { get } from "../../api/client";
import type { Attention, AttentionItem, Counts } from "../../api/types";
import { Empty, Skeleton, Trouble } from "../../parts/states";
import { LegacyPill } from "../../pill/pill";
import { go, usePlace, withParams } from "../../route/route";
import { useSharedAttention } from "../../shell/shared";
import { useAttention, useBoard, useDocument, useFeedState, useWords } from "../../state/board";
import { clock, count } from "../../time/format";
import { Absolute, Lasting } from "../../time/ticking";
import { EntityPane } from "../entity/pane";
import { type Cluster, clusters, rows } from "./clusters";
import { AttentionList } from "./list";
import { type Done, useTriage } from "./triage";

export function AttentionPage() {
  const { params } = usePlace();
  const showsAside = params.get("set_aside") === "1";
  const shared = useSharedAttention();
  const own = useAttention(true, showsAside);
  const read = showsAside ? own : shared;
  const open = useMemo(() => new Set(params.get("open")?.split(",") ?? []), [params]);
  const [done, setDone] = useState<ReadonlyMap<string, Done>>(new Map());
  const items = useMemo(() => withDone(read.data?.items ?? [], done), [read.data, done]);
  const list = useMemo(() => rows(items, open), [items, open]);
  const triage = useTriage(list, open, read.reload, setDone);
  const selected = params.get("sel");
  const many = manyOf(params.get("act"), params.get("cluster"), items);

  if (!read.data)
    return read.problem ? <Trouble problem={read.problem} onRetry={read.reload} /> : <Skeleton rows={10} />;
  const close = () => go(withParams({ sel: null, act: null, cluster: null }));
  return (
    <div className="split" data-panel={selected !== null || many !== null || undefined}>
      <div className="split-list">
        <Heading attention={read.data} showsAside={showsAside} />
        {list.length === 0 ? (
          <AllIsWell attention={read.data} />
        ) : (
          <AttentionList rows={list} triage={triage} done={done} selected={selected} />
        )}
      </div>
      {many ? (
        <aside className="split-panel" aria-label="Act on many">
          <Many act={many.act} cluster={many.cluster} onClose={close} />
        </aside>
      ) : (
        selected && (
          <aside className="split-panel" aria-label="Selected">
            <EntityPane key={selected} id={selected} onClose={close} />
          </aside>
        )
      )}
    </div>
  );
}

/** What was just set aside stays where it was, so that it can be taken back. */
function withDone(items: AttentionItem[], done: ReadonlyMap<string, Done>): AttentionItem[] {
  const present = new Set(items.map((item) => item.fingerprint));
  const kept = [...done.values()].filter((one) => !present.has(one.item.fingerprint));
  const merged = [...items];
  for (const one of kept) {
    const at = merged.findIndex((item) => item.fingerprint === one.before);
    if (at < 0) merged.push(one.item);
    else merged.splice(at, 0, one.item);
  }
  return merged;
}

function manyOf(
  act: string | null,
  key: string | null,
  items: AttentionItem[],
): { act: "stop" | "retry"; cluster: Cluster } | null {
  if (key === null || (act !== "stop" && act !== "retry")) return null;
  const cluster = clusters(items).find((one) => one.key === key);
  return cluster ? { act, cluster } : null;
}

function Many({ act, cluster, onClose }: { act: "stop" | "retry"; cluster: Cluster; onClose: () => void }) {
  const { entities } = useBoard();
  const words = useWords();
  const ids = cluster.items.map((item) => item.entity.id);
  const hosts = [...new Set(ids.map((id) => entities.view(id)?.host).filter((host) => host != null))];
  const noun = words.noun(cluster.items[0]?.entity.kind ?? "");
  return <ManyForm act={act} ids={ids} hosts={hosts} noun={noun} onClose={onClose} />;
}

function Heading({ attention, showsAside }: { attention: Attention; showsAside: boolean }) {
  const words = useWords();
  const aside = attention.set_aside ?? 0;
  const parts = Object.entries(attention.by_severity).map(
    ([name, n]) => `${count(n)} ${words.label("severity", name).toLowerCase()}`,
  );
  return (
    <header className="page-head">
      <h1>
        {attention.total === 0
          ? "Nothing needs you"
          : `${count(attention.total)} ${attention.total === 1 ? "needs" : "need"} you`}
      </h1>
      <span className="faint">{parts.join(" · ")}</span>
      {attention.items.length < attention.total && (
        <span className="faint">the first {count(attention.items.length)} are shown</span>
      )}
      {(aside > 0 || showsAside) && (
        <button
          type="button"
          className="quiet"
          aria-pressed={showsAside}
          onClick={() => go(withParams({ set_aside: showsAside ? null : "1" }))}
        >
          {showsAside ? "Hide what is set aside" : `${count(aside)} set aside`}
        </button>
      )}
    </header>
  );
}

function AllIsWell({ attention }: { attention: Attention }) {
  const counts = useDocument((signal) => get<Counts>("/counts", signal), "counts", {
    on: () => true,
    atMostEveryMs: 2000,
  });
  const feed = useFeedState();
  const since = attention.clear_since ?? null;
  return (
    <Empty
      title="All is well"
      because={
        feed.name === "live"
          ? "Everything that runs is at work, and everything that ended was dealt with."
          : `This was so at ${clock(attention.generated_at)}; the feed is not live.`
      }
    >
      {since && (
        <p>
          Nothing has needed anybody for <Lasting from={since} to={null} />, since <Absolute at={since} />.
        </p>
      )}
      {counts.data && (
        <p className="faint">
          {count(counts.data.live)} alive, {count(counts.data.ended_24h)} ended in the last 24 hours.{" "}
          {counts.data.legacy > 0 && <LegacyPill count={counts.data.legacy} />}
        </p>
      )}
    </Empty>
  );
}
