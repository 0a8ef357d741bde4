// Attention: what failed appears by itself, and can be dealt with from the keyboard.
import assert from "node:assert/strict";
import { test } from "node:test";
import { api, ended, isMarked, mark, newPage, startRun, until, visit } from "./support.mjs";

const OPEN = `/?open=${encodeURIComponent("critical run.failed.exit_nonzero")}`;
const row = (page, title) => page.locator("li.row", { hasText: title });

/** Moves with j until the cursor stands on a row. */
async function moveTo(page, title) {
  await page.keyboard.press("k");
  for (let n = 0; n < 500; n++) {
    if (await page.locator("li.row[data-cursor]", { hasText: title }).count()) return;
    await page.keyboard.press("j");
  }
  assert.fail(`j never came to ${title}`);
}

const listed = async (page) => (await api(page, "/attention?limit=500")).items.map((item) => item.entity.id);

test("a failure appears without a reload", async (t) => {
  const page = await newPage(t);
  await visit(page, OPEN);
  await mark(page);
  const run = await startRun(page, "echo hello; exit 3", "fails");
  await row(page, run.title).waitFor();
  assert.match(await row(page, run.title).innerText(), /Failed/);
  assert.ok(await isMarked(page));
});

test("snooze, undo and dismiss by key", async (t) => {
  const page = await newPage(t);
  await visit(page, OPEN);
  const run = await startRun(page, "exit 3", "triage");
  await row(page, run.title).waitFor();
  await moveTo(page, run.title);

  await page.keyboard.press("s");
  await row(page, run.title).getByText("Snoozed for 1 h").waitFor();
  await until(
    "it is set aside",
    () => listed(page),
    (ids) => !ids.includes(run.id),
  );

  await page.keyboard.press("u");
  await until(
    "it is back",
    () => listed(page),
    (ids) => ids.includes(run.id),
  );
  await row(page, run.title)
    .getByRole("button", { name: /^Snooze/ })
    .waitFor();

  await moveTo(page, run.title);
  await page.keyboard.press("d");
  await row(page, run.title).getByText("Dismissed").waitFor();
  await until(
    "it is dismissed",
    () => listed(page),
    (ids) => !ids.includes(run.id),
  );

  await page.goto(new URL("/?set_aside=1", page.url()).href);
  const aside = row(page, run.title);
  if ((await aside.count()) === 0) await page.locator("button.cluster-title[aria-expanded=false]").first().click();
  await page.getByRole("button", { name: "Hide what is set aside" }).waitFor();
});

test("enter opens why, escape closes, r runs it again", async (t) => {
  const page = await newPage(t);
  await visit(page, OPEN);
  const run = await startRun(page, "exit 3", "again");
  await row(page, run.title).waitFor();
  await moveTo(page, run.title);
  await page.keyboard.press("o");
  await page.waitForURL((url) => url.searchParams.get("sel") === run.id);
  await page.locator(".split-panel").getByRole("heading", { name: run.title }).waitFor();
  await page.keyboard.press("Escape");
  await page.waitForURL((url) => !url.searchParams.has("sel"));

  await moveTo(page, run.title);
  await page.keyboard.press("r");
  const again = await until(
    "there is a second run of that title",
    async () => (await api(page, `/entities?ended=true&q=${encodeURIComponent(run.title)}`)).items,
    (items) => items.length > 1,
  );
  for (const view of again) await ended(page, view.id);
});

test("stop says what will happen, asks why, and the page follows", async (t) => {
  const page = await newPage(t);
  await visit(page, "/");
  const run = await startRun(page, "sleep 600", "long");
  await until(
    "it runs",
    () => api(page, `/entities/${run.id}`),
    (view) => view.started_at !== null && view.state.lifecycle === "running",
  );
  await visit(page, `/e/${run.id}`);
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  const form = page.getByRole("form", { name: /^Stop/ });
  assert.match(await form.innerText(), /every process it started/);
  await form.getByRole("button", { name: "Stop it" }).click();
  assert.ok(await form.isVisible(), "it is not stopped without a reason");
  await form.getByLabel("Why?").fill("the browser test is done with it");
  await form.getByRole("button", { name: "Stop it" }).click();
  await page.locator(".entity-head .pill", { hasText: "Cancelled" }).waitFor();
});
