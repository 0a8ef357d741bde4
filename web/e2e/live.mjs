// Live: pages follow the ledger, over a restart of the server too, and agree with each other and with the API.
import assert from "node:assert/strict";
import { test } from "node:test";
import { api, ended, isMarked, mark, newPage, server, startRun, until, visit } from "./support.mjs";

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

test("a run whose supervisor is killed is told by a page that nobody loads again", async (t) => {
  const page = await newPage(t);
  await visit(page, "/fleet?sort=newest&ended=true");
  await mark(page);
  const run = await startRun(page, "sleep 600", "loses its supervisor");
  const row = page.locator(".fleet-row", { hasText: run.title });
  await row.filter({ hasText: "Running" }).waitFor();
  const view = await api(page, `/entities/${run.id}`);
  process.kill(view.facts.supervisor.pid, "SIGKILL");
  await row.filter({ hasText: "Aborted" }).waitFor();
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

test("after a restart of the server the page catches up by itself", async (t) => {
  const page = await newPage(t);
  await visit(page, `/?open=${encodeURIComponent("critical run.failed.exit_nonzero")}`);
  await mark(page);
  const seen = page.waitForSelector("[data-feed=reconnecting]");
  await server.restart("SIGTERM");
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

test("everything comes from the server itself, and nothing complains", async (t) => {
  const page = await newPage(t);
  for (const path of ["/", "/fleet", "/board", "/trends", "/machines", "/admin"]) await visit(page, path);
  const origin = new URL(page.url()).origin;
  assert.deepEqual(
    page.requested.filter((url) => !url.startsWith(origin)),
    [],
  );
  assert.deepEqual(page.complaints, []);
  assert.equal((await api(page, "/attention")).generated_at.slice(-1), "Z");
});
