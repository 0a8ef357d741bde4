// Two browsers and the command line, asked in a storm of transitions, never disagree; and a server that is killed in one
// loses nothing that it acknowledged.
//
// What a page shows of an entity is taken from the page itself, at every change of it, with the version that it says it
// shows. For each such version the command line, which reads the store past the server, is the other witness.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Storm } from "./storm.mjs";
import { isMarked, mark, newPage, server, until, visit } from "./support.mjs";

/** The storm goes on until each page has shown so many versions. */
const VERSIONS = 150;
const KILLS = 3;
const BETWEEN_KILLS_MS = 1000;
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Has the page write down whatever it shows of any entity, from its next change on. */
function witness(page) {
  return page.evaluate(() => {
    const seen = new Map();
    const newest = new Map();
    window.testimony = { seen, backwards: [], looks: 0 };
    const look = () => {
      window.testimony.looks++;
      for (const element of document.querySelectorAll("[data-entity][data-version]")) {
        const { entity, version } = element.dataset;
        const text = element.querySelector(".chain").textContent;
        // That a command has just ended is seen before it is recorded, and not by everybody at the same moment.
        if (/draining/i.test(text)) continue;
        const severity = /sev-(\w+)/.exec(element.closest("[class*=sev-]").className)[1];
        const place = `${element.tagName} ${entity}`;
        if ((newest.get(place) ?? 0) > Number(version)) window.testimony.backwards.push(`${place} ${version}`);
        newest.set(place, Number(version));
        const key = `${entity}@${version}`;
        seen.set(`${key} ${text} ${severity}`, { key, text, severity });
      }
    };
    new MutationObserver(look).observe(document.body, {
      subtree: true,
      childList: true,
      characterData: true,
      attributes: true,
    });
    look();
  });
}

const testimony = (page) => page.evaluate(() => ({ ...window.testimony, seen: [...window.testimony.seen.values()] }));

/** How a row shows a view: the word of its pill, then what else the chain says; of "Stopping (by ann)" the part that is news. */
function shownAs(view) {
  const word = view.effective.toLowerCase();
  const unsaid = (part) => {
    const [, said = part, detail = ""] = /^(.*?) \((.*)\)$/.exec(part) ?? [];
    return word.includes(said.toLowerCase()) ? detail : part;
  };
  const rest = view.chain.split(" · ").slice(1);
  const others = rest.map(unsaid).filter((part) => part !== "");
  return { text: [view.effective, ...others].join(" · "), severity: view.state.severity };
}

/** What the command line says about every version it is asked about. */
class CommandLine {
  said = new Map();
  asked = 0;
  #isOver = false;

  take(items) {
    this.asked++;
    for (const view of items.filter((view) => view.state.phase?.name !== "draining")) {
      const shown = shownAs(view);
      const before = this.said.get(`${view.id}@${view.version}`);
      if (before) assert.deepEqual(shown, before, `the command line about ${view.id} at version ${view.version}`);
      this.said.set(`${view.id}@${view.version}`, shown);
    }
  }

  /** Asks again and again until it is told to end. */
  async follow() {
    while (!this.#isOver) this.take((await server.cli("ps", "--all")).items);
  }

  end() {
    this.#isOver = true;
  }

  /**
   * Asks about the past, for versions that were over before it came by. Whether a process lived then nobody can tell
   * afterwards, so of a run that was alive the past is no witness.
   */
  async fill(keys) {
    const places = new Map();
    for (const record of await server.records()) places.set(`${record.entity.id}@${record.version}`, record.seq);
    for (const key of keys) {
      if (this.said.has(key)) continue;
      assert.ok(places.has(key), `${key} was shown and never recorded`);
      const { items } = await server.cli("ps", "--all", "--as-of", String(places.get(key)));
      this.take(items.filter((view) => view.kind !== "session" || view.ended_at !== null));
    }
  }
}

test("two browsers and the command line never disagree in a storm", async (t) => {
  const storm = new Storm(`storm ${process.pid}`);
  const ids = await storm.gather(6);
  const filter = `ended=true&sort=oldest&q=${encodeURIComponent(storm.name)}`;
  const size = { height: 1600 };
  const pages = [await newPage(t, size), await newPage(t, size)];
  await visit(pages[0], `/fleet?${filter}&sel=${ids[0]}`);
  await visit(pages[1], `/fleet?${filter}&group=state`);
  for (const page of pages) await page.locator(".fleet-row", { hasText: storm.name }).first().waitFor();
  const attention = await pages[1].context().newPage();
  await visit(attention, `/?open=${encodeURIComponent("warning knowledge.disputed.user_rejection")}`);
  const witnesses = [...pages, attention];
  for (const page of witnesses) await witness(page);
  const cli = new CommandLine();
  const following = cli.follow();
  // A test that fails leaves neither behind, or its process would never end.
  t.after(async () => {
    cli.end();
    await Promise.allSettled([following, storm.end()]);
  });
  storm.begin({ runs: 2 });
  const count = (page) => page.evaluate(() => window.testimony.seen.size);
  await until(
    `each has shown ${VERSIONS} versions`,
    () => Promise.all(pages.map(count)),
    (counts) => counts.every((many) => many >= VERSIONS),
  );
  await storm.end();
  cli.end();
  await following;

  const last = (await server.cli("ps", "--all")).items.filter((view) => view.title?.startsWith(storm.name));
  for (const page of pages) {
    for (const view of last) {
      const row = page.locator(`.fleet-row[data-entity="${view.id}"]`);
      if ((await row.count()) === 0) continue;
      await until(
        `${view.id} is shown at version ${view.version}`,
        () => row.getAttribute("data-version"),
        (version) => Number(version) >= view.version,
      );
    }
  }
  const said = await Promise.all(witnesses.map(testimony));
  await cli.fill(new Set(said.flatMap((one) => one.seen.map(({ key }) => key))));
  const shown = new Map();
  let shared = 0;
  let alone = 0;
  for (const [n, { seen, backwards, looks }] of said.entries()) {
    for (const { key, ...look } of seen) {
      const witnessed = cli.said.get(key) ?? shown.get(key);
      if (!witnessed) alone++;
      else assert.deepEqual(look, witnessed, `page ${n} about ${key}`);
      if (n > 0 && shown.has(key)) shared++;
      shown.set(key, look);
    }
    assert.deepEqual(backwards, [], "a page never goes back to what it showed before");
    t.diagnostic(`page ${n}: ${seen.length} versions in ${looks} changes of the page`);
  }
  t.diagnostic(`${shown.size} versions in all, ${shared} of them on two pages, ${alone} of a run nobody else saw`);
  t.diagnostic(`the command line was asked ${cli.asked} times about ${cli.said.size} versions`);
  assert.ok(shown.size >= 200 && shared >= 50, "there was no storm");
  assert.ok(alone < shown.size / 10, "too much was seen by one alone");
});

test("a server that is killed in a storm loses nothing it acknowledged", async (t) => {
  const storm = new Storm(`killed ${process.pid}`);
  const ids = await storm.gather(4);
  const page = await newPage(t);
  await visit(page, `/fleet?ended=true&sort=oldest&q=${encodeURIComponent(storm.name)}`);
  await page.locator(".fleet-row", { hasText: storm.name }).first().waitFor();
  await mark(page);
  t.after(() => storm.end());
  storm.begin({ pauseMs: 0 });
  for (let n = 0; n < KILLS; n++) {
    const before = storm.acknowledged.length;
    await until(
      "the storm is on",
      () => storm.acknowledged.length,
      (length) => length > before + 20,
    );
    await server.restart("SIGKILL");
    await pause(BETWEEN_KILLS_MS);
  }
  await storm.end();
  const log = new Map((await server.records()).map((record) => [record.seq, record]));
  t.diagnostic(`${storm.acknowledged.length} were acknowledged over ${KILLS} kills`);
  for (const record of storm.acknowledged) assert.deepEqual(log.get(record.seq), record, `record ${record.seq}`);
  const { ok } = await server.cli("verify");
  assert.ok(ok, "the log is whole");

  await page.waitForSelector("[data-feed=live]");
  for (const id of ids) {
    const view = await server.cli("inspect", id);
    await until(
      `${id} is shown at version ${view.version}`,
      () => page.locator(`.fleet-row[data-entity="${id}"]`).getAttribute("data-version"),
      (version) => Number(version) === view.version,
    );
  }
  assert.ok(await isMarked(page), "the page was not loaded again");
});
