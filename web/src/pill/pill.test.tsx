import { readFileSync } from "node:fs";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { item, session, state, view, vocabulary } from "../samples";
import { WordsProvider } from "../state/board";
import { Words } from "../state/words";
import { Chain, ItemChain } from "./chain";
import { LegacyPill, StatusPill } from "./pill";

const words = new Words(vocabulary, [session], []);
const drawn = (element: React.ReactNode) =>
  renderToStaticMarkup(<WordsProvider words={words}>{element}</WordsProvider>);

describe("pill", () => {
  it("has icon, text and colour", () => {
    const html = drawn(<StatusPill taxonomy="session" value="failed" />);
    expect(html).toContain("tone-error");
    expect(html).toContain("<svg");
    expect(html).toContain("Failed");
  });

  it("shows what has no status as legacy, dotted, with the reason", () => {
    const html = drawn(<StatusPill taxonomy="session" value={null} />);
    expect(html).toContain("legacy");
    expect(html).toContain("created before the current status vocabulary");
    expect(drawn(<LegacyPill count={376} />)).toContain("376 legacy sessions");
  });

  it("never shows a stale run as a blue Running", () => {
    const stale = view({
      chain: "Running · Process dead",
      effective: "stale running",
      state: state({ health: "process_dead", tone: "danger" }),
    });
    const html = drawn(<Chain view={stale} />);
    expect(html).toContain("stale running");
    expect(html).not.toContain("tone-running");
    const stopping = view({ chain: "Running · Stopping (by alice)", effective: "stopping" });
    expect(drawn(<Chain view={stopping} />)).toContain('stopping</span></span><span class="chain-rest"> · by alice<');
    const unknown = drawn(<ItemChain item={item({ chain: "Running · Stalled", tone: "danger" })} view={undefined} />);
    expect(unknown).toContain("Running · Stalled</span>");
    expect(unknown).not.toContain("tone-running");
  });
});

describe("tokens", () => {
  const css = readFileSync("src/css/tokens.css", "utf8");
  const page = readFileSync("../docs/reference/vocabulary.md", "utf8");
  const rows = [
    ...page.matchAll(/^\| `(\w+)` \| [^|]+ \| `(#\w{6})` on `(#\w{6})` \| [\d.]+ \| `(#\w{6})` on `(#\w{6})` \|/gm),
  ];
  const [light = "", dark = ""] = css.split("@media (prefers-color-scheme: dark)");

  it("are the seven pairs that are declared, in both themes", () => {
    expect(rows.length).toBe(7);
    for (const [, name, lightFg, lightBg, darkFg, darkBg] of rows) {
      expect(light).toContain(`--${name}-fg: ${lightFg?.toLowerCase()};`);
      expect(light).toContain(`--${name}-bg: ${lightBg?.toLowerCase()};`);
      expect(dark).toContain(`--${name}-fg: ${darkFg?.toLowerCase()};`);
      expect(dark).toContain(`--${name}-bg: ${darkBg?.toLowerCase()};`);
    }
  });
});
