// The board: tasks in columns that follow the ledger, keys, filters in the address, the story of a task and what a person decides.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { api, isMarked, mark, newPage, server, until, visit } from "./support.mjs";

let made = 0;
/** Labels that no other test uses, and the address of a board with nothing else on it. */
function corner() {
  const value = `${process.pid}-${++made}`;
  return { labels: { corner: value }, path: `/board?label=${encodeURIComponent(`corner=${value}`)}` };
}

const add = (page, title, more) => api(page, "/tasks", { title, ...more });
const column = (page, name) => page.getByRole("region", { name, exact: true });
const cardIn = (page, name, title) => column(page, name).locator(".card", { hasText: title });
const countOf = (page, name) => column(page, name).locator("h2 .num").innerText();

function repository() {
  const repo = join(server.cwd, `repo-${++made}`);
  mkdirSync(repo);
  const git = (...words) =>
    execFileSync("git", ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", ...words], { cwd: repo });
  git("init", "-q", "-b", "main");
  writeFileSync(join(repo, "greeting.txt"), "hello\n");
  git("add", ".");
  git("commit", "-q", "-m", "begin");
  return { repo, git };
}

// It comes first: a crew that is to go home when the board is quiet waits for tasks that others hold.
test("the story of a task that a worker did: claims, turns, runs, checks and the merge", async (t) => {
  const page = await newPage(t);
  await visit(page, "/board");
  const { repo, git } = repository();
  const { labels, path } = corner();
  const task = await add(page, "greet the world", {
    prompt: "Write a greeting into greeting.txt.",
    role: "writer",
    priority: 1,
    scope: "small",
    files: ["greeting.txt"],
    verify: ["grep -q world greeting.txt"],
    repo,
    labels,
  });
  await visit(page, path);
  await mark(page);
  await cardIn(page, "Open", "greet the world").waitFor();
  const script = 'echo "hello world" > greeting.txt';
  await server.say("work", "--once", "--role", "writer", "--retry-pause", "200ms", "--", "/bin/sh", "-c", script);
  await until(
    "the task is closed",
    () => page.locator("[data-state=closed] .num").innerText(),
    (count) => count === "1",
  );
  assert.ok(await isMarked(page), "the board was not loaded again");
  await visit(page, `/e/${task.id}`);
  const said = page.getByRole("region", { name: "What happened" });
  await said.getByText("claimed by").waitFor();
  await said.getByText("passed", { exact: true }).first().waitFor();
  const commit = git("rev-parse", "--short=12", "main").toString().trim();
  await said.getByText(commit, { exact: true }).waitFor();
  const changed = page.getByRole("region", { name: "What it changed" });
  await changed.locator(".diff-lines .added", { hasText: "+hello world" }).waitFor();
  assert.equal(await changed.locator(".diff-lines .removed").innerText(), "-hello");
  assert.match(await changed.locator("header").innerText(), /1 file\s*\+1 −1/);
  const asked = page.getByRole("region", { name: "Asked for" });
  for (const text of ["Write a greeting into greeting.txt.", "writer", "grep -q world greeting.txt"]) {
    await asked.getByText(text).first().waitFor();
  }
  assert.match(await page.getByRole("region", { name: "Next" }).innerText(), /nobody: it is over/);
  await page.getByText(`callboard task show ${task.id}`).waitFor();
  const told = await server.cli("task", "show", task.id);
  assert.equal(told.merge.commit.slice(0, 12), commit);
  await said.locator("[data-type=turn] a").nth(1).click();
  await page.waitForURL(`**/e/${told.turns[0].run}`);
});

test("tasks stand in the columns of their states, with their counts", async (t) => {
  const page = await newPage(t);
  const { labels, path } = corner();
  await visit(page, path);
  await page.getByRole("heading", { name: "Nothing fits these filters" }).waitFor();
  const [open, waits, held, blocked, failed, off] = await Promise.all(
    ["is open", "waits", "is worked on", "is blocked", "has failed", "is called off"].map((title, at) =>
      add(page, title, { labels, ...(at === 1 ? { gates: ["person:the design"] } : {}) }),
    ),
  );
  for (const task of [held, blocked, failed]) {
    await api(page, `/tasks/${task.id}/claim`, { worker: `ann ${task.id}` });
    await api(page, `/tasks/${task.id}/start`, {});
  }
  await api(page, `/tasks/${held.id}/progress`, { text: "half of it is there" });
  await api(page, `/tasks/${blocked.id}/block`, { by: ["the network"], because: "no route" });
  await api(page, `/tasks/${failed.id}/fail`, { message: "it cannot be done", is_final: true });
  await api(page, `/tasks/${off.id}/cancel`, { because: "not wanted" });
  const plan = join(server.cwd, `plan-${made}.json`);
  const planned = { name: "a", title: "is planned", labels };
  writeFileSync(plan, JSON.stringify({ plan: `plan ${made}`, tasks: [planned] }));
  await server.cli("task", "import", plan);

  await cardIn(page, "Planned", "is planned").waitFor();
  await cardIn(page, "Open", open.title).getByText("next: any worker that claims it").waitFor();
  await cardIn(page, "Open", waits.title).getByText("waits for a person: the design").waitFor();
  await cardIn(page, "Working", held.title).getByText("half of it is there").waitFor();
  await cardIn(page, "Blocked", blocked.title).getByText("waits for the network").waitFor();
  await cardIn(page, "Failed", failed.title).waitFor();
  const names = ["Planned", "Open", "Working", "Review", "Blocked", "Failed"];
  const counts = async () => Promise.all(names.map((name) => countOf(page, name)));
  await until("the counts", counts, (found) => found.join(" ") === "1 2 1 0 1 1");
  assert.match(await page.locator("[data-state=cancelled]").first().innerText(), /^1\s/);
});

test("a card moves when its task is claimed, and its worker is shown", async (t) => {
  const page = await newPage(t);
  const { labels, path } = corner();
  await visit(page, path);
  await mark(page);
  const task = await add(page, "moves", { labels });
  await cardIn(page, "Open", "moves").waitFor();
  await page.keyboard.press("j");
  await until(
    "the card has the focus",
    () => page.evaluate(() => document.activeElement?.id),
    (id) => id === `card-${task.id}`,
  );
  const worker = `bob ${process.pid}-${made}`;
  await api(page, `/tasks/${task.id}/claim`, { worker });
  await cardIn(page, "Working", "moves").getByText(worker).waitFor();
  await cardIn(page, "Open", "moves").waitFor({ state: "detached" });
  assert.equal(await countOf(page, "Open"), "0");
  assert.equal(await page.evaluate(() => document.activeElement?.id), `card-${task.id}`, "the focus went with it");
  const line = page.getByRole("region", { name: "Workers" }).locator(".worker", { hasText: worker });
  await line.getByText("moves").waitFor();
  const visual = (name) => line.and(page.locator(`[data-visual=${name}]`)).waitFor();
  await visual("spawning");
  await api(page, `/tasks/${task.id}/start`, {});
  await visual("running");
  assert.match(await line.innerText(), /●\s*Running/);
  await line.getByText("its lease is in force").waitFor();
  await api(page, `/tasks/${task.id}/done`, { summary: "moved" });
  await visual("merging");
  assert.ok(await isMarked(page));
});

test("keys move over the board, open a task and filter", async (t) => {
  const page = await newPage(t);
  const { labels, path } = corner();
  await visit(page, path);
  const first = await add(page, "first", { labels, priority: 1 });
  const second = await add(page, "second", { labels });
  const third = await add(page, "third", { labels });
  await api(page, `/tasks/${third.id}/claim`, { worker: `eve ${made}` });
  await cardIn(page, "Working", "third").waitFor();
  const focused = (task) =>
    until(
      `the focus is on ${task.title}`,
      () => page.evaluate(() => document.activeElement?.id),
      (id) => id === `card-${task.id}`,
    );
  const press = async (key, task) => {
    await page.keyboard.press(key);
    await focused(task);
  };
  await press("j", second);
  await press("k", first);
  await press("l", third);
  await press("h", first);
  await press("G", second);
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.searchParams.get("sel") === second.id);
  await page.locator(".split-panel").getByRole("heading", { name: "second" }).waitFor();
  await page.keyboard.press("Escape");
  await page.waitForURL((url) => !url.searchParams.has("sel"));
  await page.keyboard.press("/");
  await until(
    "the filter has the focus",
    () => page.evaluate(() => document.activeElement?.id),
    (id) => id === "filter",
  );
  await page.keyboard.type("third");
  await page.waitForURL((url) => url.pathname === "/board" && url.searchParams.get("q") === "third");
  await cardIn(page, "Open", "first").waitFor({ state: "detached" });
  assert.equal(await countOf(page, "Open"), "0 of 2");
  await page.keyboard.press("Escape");
  await cardIn(page, "Open", "first").waitFor();
  await visit(page, "/");
  await page.keyboard.press("g");
  await page.keyboard.press("b");
  await page.waitForURL((url) => url.pathname === "/board");
});

test("role and text are in the address and survive a reload", async (t) => {
  const page = await newPage(t);
  const { labels, path } = corner();
  await visit(page, path);
  const role = `role-${made}`;
  await add(page, "for somebody", { labels, role });
  await add(page, "for anybody", { labels });
  await cardIn(page, "Open", "for anybody").waitFor();
  await page.getByLabel("Role", { exact: true }).selectOption(role);
  await cardIn(page, "Open", "for anybody").waitFor({ state: "detached" });
  const url = page.url();
  assert.equal(new URL(url).searchParams.get("role"), role);
  await page.reload();
  await cardIn(page, "Open", "for somebody").waitFor();
  assert.equal(await page.getByLabel("Role", { exact: true }).inputValue(), role);
  assert.equal(page.url(), url);
  await page.getByRole("button", { name: "Clear", exact: true }).click();
  await page.waitForURL((now) => now.search === "");
});

test("a task is called off with a reason, which is in the log", async (t) => {
  const page = await newPage(t);
  const { labels, path } = corner();
  await visit(page, path);
  const task = await add(page, "not wanted any more", { labels });
  await cardIn(page, "Open", task.title).getByRole("link").click();
  const panel = page.locator(".split-panel");
  await panel.getByRole("button", { name: "Cancel", exact: true }).click();
  const form = panel.getByRole("form", { name: /^Cancel/ });
  await form.getByText("Calls this task off for good").waitFor();
  await form.getByRole("button", { name: "Cancel it" }).click();
  assert.ok(await form.isVisible(), "it is not called off without a reason");
  await form.getByLabel("Why?").fill("the customer left");
  await form.getByRole("button", { name: "Cancel it" }).click();
  await form.waitFor({ state: "detached" });
  await panel.locator(".pill", { hasText: "Cancelled" }).first().waitFor();
  const { items } = await api(page, `/entities/${task.id}/records`);
  const last = items.at(-1);
  assert.deepEqual([last.to, last.reasons[0].message, last.actor.type], ["cancelled", "the customer left", "operator"]);
});

test("a person approves a plan, vouches for what a task waits for, and has a failed one tried again", async (t) => {
  const page = await newPage(t);
  const { labels, path } = corner();
  await visit(page, path);
  const decide = async (id, button, why) => {
    await visit(page, `/e/${id}`);
    await page.getByRole("button", { name: button, exact: true }).click();
    const form = page.getByRole("form");
    await form.getByLabel("Why?").fill(why);
    await form.getByRole("button", { name: `${button} it` }).click();
    await form.waitFor({ state: "detached" });
  };
  const stands = (id, state) =>
    until(
      `${id} is ${state}`,
      async () => (await api(page, `/entities/${id}`)).state.lifecycle,
      (found) => found === state,
    );
  const plan = join(server.cwd, `plan-${++made}.json`);
  writeFileSync(plan, JSON.stringify({ plan: `plan ${made}`, tasks: [{ name: "a", title: "to approve", labels }] }));
  const { tasks } = await server.cli("task", "import", plan);
  await decide(tasks[0].id, "Approve", "it is what we want");
  await stands(tasks[0].id, "open");

  const waits = await add(page, "waits for a person", { labels, gates: ["person:the design"] });
  await decide(waits.id, "Unblock", "the design is there");
  assert.deepEqual((await api(page, `/entities/${waits.id}`)).facts.unmet, []);

  await api(page, `/tasks/${waits.id}/claim`, { worker: `max ${made}` });
  await api(page, `/tasks/${waits.id}/start`, {});
  await api(page, `/tasks/${waits.id}/fail`, { message: "no luck", is_final: true });
  await decide(waits.id, "Try again", "the network is back");
  await stands(waits.id, "open");
  const next = page.getByRole("region", { name: "Next" });
  await next.getByText("any worker that claims it").waitFor();
  await next.getByText("no luck").waitFor();
});
