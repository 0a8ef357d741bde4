// The frame around every page: navigation, the mark of the feed, what a screen reader is told, and the keys.
import { type ReactNode, useMemo, useState } from "react";
import type { Problem } from "../api/client";
import { type Key, useKeys } from "../keys/keys";
import { AdminPage } from "../pages/admin/page";
import { AttentionPage } from "../pages/attention/page";
import { BoardPage } from "../pages/board/page";
import { EntityPage } from "../pages/entity/page";
import { FleetPage } from "../pages/fleet/page";
import { InboxPage } from "../pages/inbox/page";
import { MachinesPage } from "../pages/machines/page";
import { TrendsPage } from "../pages/trends/page";
import { Empty, Skeleton, Trouble } from "../parts/states";
import { Link } from "../route/link";
import { go, usePlace } from "../route/route";
import { useAttention, useFeedState, useIsOld, useReadWords, WordsProvider } from "../state/board";
import { InboxContext, useInbox } from "../state/inbox";
import { setClock } from "../time/ticking";
import { Announcer } from "./announcer";
import { KeySheet } from "./keysheet";
import { FeedMark } from "./mark";
import { AttentionContext } from "./shared";

const PAGES: { path: string; name: string; key: string }[] = [
  { path: "/", name: "Attention", key: "g a" },
  { path: "/inbox", name: "Inbox", key: "g i" },
  { path: "/fleet", name: "Fleet", key: "g f" },
  { path: "/board", name: "Board", key: "g b" },
  { path: "/trends", name: "Trends", key: "g t" },
  { path: "/machines", name: "Machines", key: "g m" },
  { path: "/admin", name: "Admin", key: "g d" },
];

export function App() {
  const { path } = usePlace();
  const { words, problem } = useReadWords();
  const attention = useAttention(false);
  const inbox = useInbox();
  const feed = useFeedState();
  const old = useIsOld();
  const [help, setHelp] = useState(false);
  if (attention.data) setClock(attention.data.generated_at);

  const keys = useMemo<Key[]>(
    () => [
      ...PAGES.map((page) => ({ keys: page.key, does: `go to ${page.name}`, run: () => go(page.path) })),
      { keys: "/", does: "filter the list, or the fleet", run: filter },
      { keys: "?", does: "list the keys", run: () => setHelp((open) => !open) },
    ],
    [],
  );
  useKeys(keys);

  const signedOut = feed.name === "refused" || problem?.status === 401 || attention.problem?.status === 401;
  const total = attention.data?.total ?? null;
  const waiting = { "/": total, "/inbox": inbox.data?.items.length ?? null };
  return (
    <AttentionContext value={attention}>
      <InboxContext value={inbox}>
        <title>{total ? `(${total}) Callboard` : "Callboard"}</title>
        <a className="skip" href="#main">
          Skip to the page
        </a>
        <TopBar path={path} waiting={waiting} isSignedIn={!signedOut} onHelp={() => setHelp(true)} />
        <main id="main" tabIndex={-1} data-old={old || undefined}>
          {signedOut ? (
            <SignedOut />
          ) : words ? (
            <WordsProvider words={words}>{route(path)}</WordsProvider>
          ) : (
            <Waiting problem={problem} />
          )}
        </main>
        <Announcer attention={attention.data} />
        {help && <KeySheet onClose={() => setHelp(false)} />}
      </InboxContext>
    </AttentionContext>
  );
}

/** Puts the focus into the filter of the page; a page without one leads to the fleet's. */
function filter(): void {
  const own = document.getElementById("filter");
  if (own) {
    own.focus();
    return;
  }
  go("/fleet");
  requestAnimationFrame(() => document.getElementById("filter")?.focus());
}

interface TopBarProps {
  path: string;
  /** How much waits for somebody, by the page that shows it. */
  waiting: Readonly<Record<string, number | null>>;
  isSignedIn: boolean;
  onHelp: () => void;
}

function TopBar({ path, waiting, isSignedIn, onHelp }: TopBarProps) {
  return (
    <header className="top">
      <Link to="/" className="brand" aria-label="Callboard, to attention">
        Callboard
      </Link>
      <nav aria-label="Pages">
        {PAGES.map((page) => (
          <Link key={page.path} to={page.path} aria-current={path === page.path ? "page" : undefined} title={page.key}>
            {page.name}
            <Badge many={waiting[page.path] ?? null} />
          </Link>
        ))}
      </nav>
      <span className="top-end">
        {isSignedIn && <FeedMark />}
        <button type="button" className="quiet" onClick={onHelp} aria-label="List the keys" title="?">
          ?
        </button>
      </span>
    </header>
  );
}

function Badge({ many }: { many: number | null }) {
  if (!many) return null;
  return <span className="badge num">{many.toLocaleString("en")}</span>;
}

function route(path: string): ReactNode {
  if (path === "/") return <AttentionPage />;
  if (path === "/inbox") return <InboxPage />;
  if (path === "/fleet") return <FleetPage />;
  if (path === "/board") return <BoardPage />;
  if (path.startsWith("/e/")) return <EntityPage id={decodeURIComponent(path.slice(3))} />;
  if (path === "/trends") return <TrendsPage />;
  if (path === "/machines") return <MachinesPage />;
  if (path === "/admin") return <AdminPage />;
  return (
    <Empty isPage title="There is no such page" because={`Nothing is at ${path}.`}>
      <Link to="/">Go to what needs you</Link>
    </Empty>
  );
}

function Waiting({ problem }: { problem: Problem | null }) {
  return problem ? <Trouble problem={problem} /> : <Skeleton rows={12} />;
}

function SignedOut() {
  return (
    <Empty
      isPage
      title="This browser is not signed in"
      because="The server wants a token, and the one-time link that brings it was used already or is older than a minute."
    >
      <p>
        Ask for a fresh link where the server runs and open it here: <code>callboard token link</code>
      </p>
    </Empty>
  );
}
