// The inbox: a question appears by itself, is answered by keys, and whoever asked goes on; every other page shows the answer.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { PROGRAM } from "./server.mjs";
import { api, isMarked, mark, newPage, server, until, visit } from "./support.mjs";

let made = 0;
/** A text that no other question has. */
const asked = (text) => `${text} (${process.pid}-${++made})`;
const quoted = (word) => `'${word.replaceAll("'", "'\\''")}'`;
const rowOf = (page, text) => page.getByRole("list", { name: "Open questions" }).locator("li", { hasText: text });
const panel = (page) => page.getByRole("article", { name: "Question" });
const ask = (page, text, more = {}) => api(page, "/questions", { text, ...more });

/** Moves the cursor to a question with j alone, and opens it. */
async function openByKeys(page, id) {
  const under = () => page.locator("li[data-cursor]").getAttribute("data-question");
  for (let before = null, now = await under(); now !== id && now !== before; ) {
    before = now;
    await page.keyboard.press("j");
    now = await until("the cursor moved", under, (found) => found !== before || found === id);
  }
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.searchParams.get("sel") === id);
  await panel(page).waitFor();
}

test("an agent asks in a run, is answered by keys alone, and goes on with the answer", async (t) => {
  const [page, other] = [await newPage(t), await newPage(t)];
  for (const one of [page, other]) {
    await visit(one, "/inbox");
    await one.waitForSelector("h1");
    await mark(one);
  }
  const text = asked("Which port?");
  const script = `PORT=$(${quoted(PROGRAM)} ask ${quoted(text)} -o 80 -o 8080 --expires 1h) && echo "it is port $PORT"`;
  const run = server.say("run", "--title", "asks for a port", "--", "/bin/sh", "-c", script);
  const row = rowOf(page, text);
  await row.waitFor();
  const id = await row.getAttribute("data-question");
  await row.getByText("asks for a port").first().waitFor();
  await row.getByText(/\d+[mh] left/).waitFor();
  await rowOf(other, text).getByRole("link").click();
  await panel(other).getByRole("button", { name: "8080" }).waitFor();

  await openByKeys(page, id);
  await page.keyboard.press("b");
  await until(
    "the reason has the focus",
    () => page.evaluate(() => document.activeElement?.getAttribute("name")),
    (name) => name === "because",
  );
  await page.keyboard.type("80 is taken, 1");
  await page.keyboard.press("Enter");
  await page.keyboard.press("2");
  assert.match(await run, /it is port 8080/);

  for (const one of [page, other]) {
    await panel(one).getByText("answered: 8080").waitFor();
    await panel(one).getByText("because 80 is taken, 1").waitFor();
    assert.equal(await panel(one).getByRole("button", { name: "8080" }).count(), 0, "it cannot be answered again");
    await one.locator(`li[data-question="${id}"][data-state=answered]`).waitFor();
    assert.ok(await isMarked(one), "no page was loaded again");
  }
  await page.keyboard.press("p");
  await page.getByRole("list", { name: "Past questions" }).getByText(text).waitFor();
});

test("the cursor and the keys stay with their question when others come and go", async (t) => {
  const page = await newPage(t);
  await visit(page, "/inbox");
  await page.waitForSelector("h1");
  const first = await ask(page, asked("first?"), { options: ["yes", "no"] });
  const second = await ask(page, asked("second?"), { options: ["yes", "no"] });
  await rowOf(page, second.text).waitFor();
  await openByKeys(page, second.id);
  await server.say("answer", first.id, "no");
  const third = await ask(page, asked("third?"), { options: ["yes", "no"] });
  await rowOf(page, third.text).waitFor();
  await page.locator(`li[data-question="${first.id}"]`).waitFor({ state: "detached" });
  assert.equal(await page.locator("li[data-cursor]").getAttribute("data-question"), second.id);
  assert.equal(
    await page.evaluate(() => document.activeElement?.closest("li")?.dataset.question),
    second.id,
    "the focus is on it, too",
  );
  await page.keyboard.press("1");
  await panel(page).getByText("answered: yes").waitFor();
  const { items } = await api(page, "/questions?all=10");
  assert.deepEqual(
    [first, second, third].map(({ id }) => items.find((one) => one.id === id).answer),
    ["no", "yes", null],
  );
  await server.say("answer", third.id, "no");
});

test("of two answers at once the second is refused, and told what the first was", async (t) => {
  const page = await newPage(t);
  await visit(page, "/inbox");
  const question = await ask(page, asked("Who is first?"), { options: ["me", "you"] });
  await visit(page, `/inbox?sel=${question.id}`);
  await panel(page).getByRole("button", { name: "me" }).waitFor();
  // The page sends its answer; before it arrives, somebody else has answered.
  await page.route("**/answer", async (route) => {
    await server.say("answer", question.id, "you", "--because", "I was faster");
    await route.continue();
  });
  await page.keyboard.press("1");
  await page.getByRole("alert").getByText("answered it already: you").waitFor();
  await panel(page).getByText("because I was faster").waitFor();
});

test("words of an agent are text: no markup, nothing hidden; and any text is an answer", async (t) => {
  const page = await newPage(t);
  await visit(page, "/inbox");
  const text = asked("<img src=x onerror=window.fooled=1> What \u202enow?");
  const context = "<script>window.fooled = 1</script>\nrm \u200b-rf";
  const question = await ask(page, text, { context });
  await visit(page, `/inbox?sel=${question.id}`);
  await panel(page).getByText("<script>window.fooled = 1</script>").waitFor();
  await panel(page).getByText("rm \\u{200b}-rf").waitFor();
  await panel(page).getByRole("heading", { name: "What \\u{202e}now?" }).waitFor();
  assert.equal(await page.evaluate(() => window.fooled), undefined);
  await page.keyboard.press("t");
  await page.keyboard.type("leave it, 1 2 3");
  await page.keyboard.press("Enter");
  await panel(page).getByText("answered: leave it, 1 2 3").waitFor();
});

test("a task tells its story from question to merge, and a rule is made and revoked", async (t) => {
  const page = await newPage(t);
  await visit(page, "/board");
  const repo = join(server.cwd, `asked-${++made}`);
  mkdirSync(repo);
  const git = (...words) =>
    execFileSync("git", ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", ...words], { cwd: repo });
  git("init", "-q", "-b", "main");
  writeFileSync(join(repo, "greeting.txt"), "hello\n");
  git("add", ".");
  git("commit", "-q", "-m", "begin");
  const role = `greeter-${made}`;
  // A worker also takes tasks without a role, which other tests have left open; the label is this task's alone.
  const labels = { greeter: role };
  const wanted = { title: "greet as asked", role, labels, repo, approval: true, scope: "small" };
  const task = await api(page, "/tasks", wanted);
  const text = asked("Greet whom?");
  const script = `NAME=$(${quoted(PROGRAM)} ask ${quoted(text)} --expires 100s) && echo "hello $NAME" > greeting.txt`;
  const work = () =>
    server.say("work", "--once", "--label", `greeter=${role}`, "--retry-pause", "200ms", "--", "/bin/sh", "-c", script);
  const first = work();
  await visit(page, `/e/${task.id}`);
  await mark(page);
  const asks = page.getByRole("list", { name: "Open questions" });
  await asks.getByText(text).waitFor();
  await asks.getByRole("link", { name: "Answer" }).click();
  await panel(page).getByRole("heading", { name: text }).waitFor();
  await page.keyboard.press("t");
  await page.keyboard.type("world");
  await page.keyboard.press("Enter");
  await panel(page).getByText("answered: world").waitFor();
  await first;

  await page.goBack();
  await asks.getByText("greet as asked").waitFor();
  await asks.getByRole("link", { name: "Answer" }).click();
  await panel(page)
    .getByRole("radio", { name: /always: .*greeter/ })
    .check();
  await panel(page).getByText("in your name until it is revoked").waitFor();
  await page.keyboard.press("b");
  await page.keyboard.type("it greets");
  await page.keyboard.press("Escape");
  await page.keyboard.press("1");
  await panel(page).getByText("answered: approve").waitFor();
  await work();
  await page.goBack();
  const said = page.getByRole("region", { name: "What happened" });
  await said.getByText("merged as").waitFor();
  const types = await said.locator("li").evaluateAll((all) => all.map((one) => one.dataset.type));
  assert.deepEqual(
    types.filter((type) => /asked|answered|merge/.test(type)),
    ["asked", "answered", "asked", "answered", "merge"],
  );
  for (const words of [text, "answered: world", "answered: approve", "because it greets"])
    await said.getByText(words).first().waitFor();
  assert.ok(await isMarked(page));
  assert.match(await server.say("task", "show", task.id), /answered: approve, because it greets/);

  await visit(page, "/inbox?show=rules");
  const rule = page.getByRole("list", { name: "Standing rules" }).locator("li", { hasText: role });
  await rule.getByRole("button", { name: /^Revoke/ }).click();
  const form = page.getByRole("form", { name: "Revoke a standing rule" });
  await form.getByLabel("Why?").fill("enough");
  await form.getByRole("button", { name: "Revoke it" }).click();
  await rule.waitFor({ state: "detached" });
});

test("attention offers to answer", async (t) => {
  const page = await newPage(t);
  await visit(page, "/");
  const question = await ask(page, asked("From attention?"), { options: ["yes", "no"] });
  await visit(page, `/e/${question.id}`);
  await page.getByRole("list", { name: "Open questions" }).getByRole("link", { name: "Answer" }).waitFor();
  const item = await until(
    "attention lists it",
    async () => (await api(page, "/attention")).items.find((one) => one.entity.id === question.id),
    (found) => found !== undefined,
  );
  // Several questions are one row that opens.
  await visit(page, `/?open=${encodeURIComponent(`${item.severity} ${item.cluster}`)}`);
  await page.getByRole("button", { name: `Answer ${question.text}` }).click();
  await page.waitForURL((url) => url.pathname === "/inbox" && url.searchParams.get("sel") === question.id);
  await page.keyboard.press("2");
  await panel(page).getByText("answered: no").waitFor();
});
