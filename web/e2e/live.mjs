// Live: pages follow the ledger, over a restart of the server too, and agree with each other and with the API.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { api, ended, isMarked, mark, newPage, RESTART, startRun, until, visit } from "./support.mjs";

test("the fleet follows a run from start to end", async (t) => {
  const page = await newPage(t);
  await visit(page, "/fleet?sort=newest&ended=true");
  await mark(page);
  const run = await startRun(page, "sleep 2; exit 0", "followed");
  const row = page.locator(".fleet-row", { hasText: run.title });
  await row.filter({ hasText: "Running" }).waitFor();
  await row.filter({ hasText: "Completed" }).waitFor();
  assert.ok(await isMarked(page));
});

test("output is followed, and is text whatever it holds", async (t) => {
  const page = await newPage(t);
  await visit(page, "/");
  const run = await startRun(page, "printf 'hello \\033[31mred\\033[0m world\\n'; sleep 1; exit 0", "talks");
  await visit(page, `/e/${run.id}`);
  const output = page.getByRole("log", { name: "Output" });
  await output.getByText("hello red world").waitFor();
  assert.ok(!(await output.innerText()).includes("\u001b"));
  await ended(page, run.id);
});

test("after a restart of the server the page catches up by itself", {
  skip: !RESTART && "CALLBOARD_RESTART is not set",
}, async (t) => {
  const page = await newPage(t);
  await visit(page, `/?open=${encodeURIComponent("critical run.failed.exit_nonzero")}`);
  await mark(page);
  const seen = page.waitForSelector("[data-feed=reconnecting]");
  const restarted = spawnSync("sh", ["-c", RESTART], { encoding: "utf8" });
  assert.equal(restarted.status, 0, restarted.stderr);
  await seen;
  await page.waitForSelector("[data-feed=live]");
  await until(
    "nothing is greyed",
    () => page.locator("main[data-old]").count(),
    (count) => count === 0,
  );
  const run = await startRun(page, "exit 3", "after the restart");
  await page.locator("li.row", { hasText: run.title }).waitFor();
  assert.ok(await isMarked(page), "it was not loaded again");
});

test("two browsers and the API agree after a storm", async (t) => {
  const [one, two] = [await newPage(t), await newPage(t)];
  for (const page of [one, two]) await visit(page, "/fleet?sort=newest&ended=true&q=storm");
  const runs = [];
  for (let n = 0; n < 20; n++) runs.push(await startRun(one, `exit ${n % 3}`, "storm"));
  for (const run of runs) {
    const view = await ended(one, run.id);
    for (const page of [one, two]) {
      const shown = page.locator(".fleet-row", { hasText: run.title }).locator(".fleet-chain");
      await until(
        `${run.title} is shown as ${view.chain}`,
        () => shown.innerText().catch(() => ""),
        (text) => text.replace(/\s+/g, " ").trim() === view.chain,
      );
    }
  }
});

test("everything comes from the server itself, and nothing complains", async (t) => {
  const page = await newPage(t);
  for (const path of ["/", "/fleet", "/trends", "/machines", "/admin"]) await visit(page, path);
  const origin = new URL(page.url()).origin;
  assert.deepEqual(
    page.requested.filter((url) => !url.startsWith(origin)),
    [],
  );
  assert.deepEqual(page.complaints, []);
  assert.equal((await api(page, "/attention")).generated_at.slice(-1), "Z");
});
