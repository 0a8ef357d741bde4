// Looks: both themes, a small screen, keys, the URL as state, and nothing serious for axe to find.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { api, ended, newPage, startRun, until, visit } from "./support.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PAGES = [
  "/",
  "/inbox",
  "/inbox?show=past",
  "/inbox?show=rules",
  "/fleet",
  "/fleet?group=state&ended=true",
  "/board",
  "/trends",
  "/machines?kind=task",
  "/admin",
];

for (const theme of ["light", "dark"]) {
  test(`${theme} follows the system, in the declared colours`, async (t) => {
    const page = await newPage(t, { theme });
    await visit(page, "/machines");
    const { tokens } = await api(page, "/vocabulary");
    const pill = page.locator(".table .pill.tone-error").first();
    await pill.waitFor();
    const drawn = await pill.evaluate((element) => {
      const style = getComputedStyle(element);
      return { fg: style.color, bg: style.backgroundColor, height: element.getBoundingClientRect().height };
    });
    const rgb = (hex) => `rgb(${[1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)).join(", ")})`;
    const error = tokens.find((token) => token.name === "error")[theme];
    assert.deepEqual(drawn, { fg: rgb(error.fg), bg: rgb(error.bg), height: 20 });
  });

  test(`axe finds nothing serious, ${theme}`, async (t) => {
    const page = await newPage(t, { theme });
    await visit(page, "/");
    const run = await startRun(page, "exit 3", "axe");
    await ended(page, run.id);
    const task = await api(page, "/tasks", { title: `axe ${theme}`, prompt: "look", gates: ["person:the design"] });
    const question = await api(page, "/questions", { text: `axe ${theme}?`, context: "look", options: ["yes", "no"] });
    const paths = [
      `/inbox?sel=${question.id}`,
      `/e/${question.id}`,
      `/e/${run.id}`,
      `/e/${run.id}?act=note`,
      `/fleet?ended=true&sel=${run.id}`,
    ];
    for (const path of [...PAGES, ...paths, `/e/${task.id}?act=cancel`, `/board?sel=${task.id}`]) {
      await visit(page, path);
      await page.waitForSelector("h1");
      await page.evaluate(AXE);
      const found = await page.evaluate(async () => {
        const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
        const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
        return serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
      });
      assert.deepEqual(found, [], path);
    }
  });
}

test("at 360 px rows have two lines and nothing is wider than the screen", async (t) => {
  const page = await newPage(t, { width: 360, height: 740 });
  await visit(page, "/");
  const run = await startRun(page, "exit 3", "small");
  await ended(page, run.id);
  const task = await api(page, "/tasks", {
    title: "small ".repeat(20),
    files: ["a/long/path/".repeat(8)],
    gates: ["person:nobody is to claim it"],
  });
  const text = "a_word_without_an_end".repeat(20);
  const question = await api(page, "/questions", { text, context: text, options: [text.slice(0, 60), "no"] });
  for (const path of [
    ...PAGES,
    `/inbox?sel=${question.id}`,
    `/e/${question.id}`,
    `/e/${run.id}`,
    `/fleet?ended=true&sel=${run.id}`,
    `/e/${task.id}`,
  ]) {
    await visit(page, path);
    await page.waitForSelector("main > *");
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360, path);
  }
  await visit(page, "/fleet?ended=true");
  const box = await page.locator(".fleet-row").first().boundingBox();
  assert.equal(box?.height, 52);
});

test("at 2560 px the detail stands beside the list", async (t) => {
  const page = await newPage(t, { width: 2560, height: 1300 });
  await visit(page, "/");
  const run = await startRun(page, "exit 3", "wide");
  await ended(page, run.id);
  await visit(page, `/fleet?ended=true&q=${encodeURIComponent(run.title)}`);
  await page.locator(".fleet-row a", { hasText: run.title }).click();
  await page.locator(".split-panel").getByRole("heading", { name: run.title }).waitFor();
  assert.ok(await page.locator(".fleet-row", { hasText: run.title }).isVisible());
});

test("keys go everywhere, and ? lists them", async (t) => {
  const page = await newPage(t);
  await visit(page, "/");
  await page.waitForSelector("h1");
  await page.keyboard.press("g");
  await page.keyboard.press("f");
  await page.waitForURL(/\/fleet$/);
  await page.locator(".fleet .search").waitFor();
  const openFilter = async () => {
    await page.keyboard.press("/");
    await until(
      "the filter has the focus",
      () => page.evaluate(() => document.activeElement?.id),
      (id) => id === "filter",
    );
  };
  await openFilter();
  await page.keyboard.type("abc");
  await page.waitForURL(/q=abc/);
  await page.keyboard.press("Escape");
  const clear = page.getByRole("button", { name: "Clear", exact: true });
  const left = async () => ({
    search: new URL(page.url()).search,
    text: await page.locator("#filter").inputValue(),
    hasFocus: await page.evaluate(() => document.activeElement?.id === "filter"),
    buttons: await clear.count(),
  });
  const nothing = { search: "", text: "", hasFocus: false, buttons: 0 };
  await until("Escape cleared the filter", left, (found) => isDeepStrictEqual(found, nothing));
  await openFilter();
  await page.keyboard.type("xyz");
  await page.waitForURL(/q=xyz/);
  await page.keyboard.press("Enter");
  assert.deepEqual(await left(), { search: "?q=xyz", text: "xyz", hasFocus: false, buttons: 1 });
  await clear.click();
  await until("the button cleared the filter", left, (found) => isDeepStrictEqual(found, nothing));
  await page.getByLabel("ended too").check();
  await page.locator(".fleet-row").first().waitFor();
  await page.locator("h1").click();
  await page.keyboard.press("?");
  const sheet = page.getByRole("complementary", { name: "Keys" });
  assert.match(await sheet.innerText(), /next row/);
  await page.keyboard.press("Escape");
  await sheet.waitFor({ state: "detached" });
  await page.keyboard.press("g");
  await page.keyboard.press("a");
  await page.waitForURL((url) => url.pathname === "/");
});

test("filters, sort, grouping and selection survive a reload", async (t) => {
  const page = await newPage(t);
  await visit(page, "/fleet");
  await page.getByLabel("Kind", { exact: true }).selectOption("session");
  await page.getByLabel("Group by", { exact: true }).selectOption("state");
  await page.getByLabel("ended too").check();
  const url = page.url();
  assert.match(url, /kind=session/);
  await page.reload();
  assert.equal(page.url(), url);
  await until(
    "the choice is shown",
    () => page.getByLabel("Group by", { exact: true }).inputValue(),
    (value) => value === "state",
  );
});

test("of 100,000 rows only those in view are drawn", async (t) => {
  const page = await newPage(t);
  await visit(page, "/");
  const run = await startRun(page, "exit 0", "one of many");
  const view = await ended(page, run.id);
  // One row in 100,000 places: what is measured is the page, and the server has figures of its own.
  await page.route("**/api/v1/entities?*", (route) => {
    const asked = new URL(route.request().url()).searchParams;
    const [from, limit] = [Number(asked.get("cursor") ?? 0), Number(asked.get("limit"))];
    const items = Array.from({ length: limit }, (_, n) => ({
      ...view,
      id: `ses_${from + n}`,
      title: `run ${from + n}`,
    }));
    const next_cursor = from + limit < 100_000 ? String(from + limit) : null;
    return route.fulfill({ json: { items, next_cursor, total: 100_000, legacy: 0, head: view.head } });
  });
  await visit(page, "/fleet?ended=true&sort=newest");
  await page.locator(".fleet-row", { hasText: "run 0" }).first().waitFor();
  const gap = await page.locator(".scroller").evaluate(async (scroller) => {
    const gaps = [];
    let last = performance.now();
    for (let n = 0; n < 120; n++) {
      scroller.scrollTop += 1500;
      await new Promise(requestAnimationFrame);
      gaps.push(performance.now() - last);
      last = performance.now();
    }
    return gaps.sort((a, b) => a - b)[Math.floor(gaps.length * 0.95)];
  });
  t.diagnostic(`one frame in twenty took more than ${gap.toFixed(0)} ms`);
  assert.ok((await page.locator(".fleet-line").count()) < 120);
  await page
    .locator(".fleet-row", { hasText: /run 5\d{3}/ })
    .first()
    .waitFor();
});
