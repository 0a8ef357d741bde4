// Opens the page again and again in a fresh context of one browser, and prints how long it took each time as JSON.
//
// CALLBOARD_LOGIN   the one-time link
// CALLBOARD_OPENED  how often
// CHROMIUM          the browser; /usr/bin/chromium unless given
import { chromium } from "playwright-core";

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking"],
});
const login = new URL(process.env.CALLBOARD_LOGIN);
const first = await browser.newContext();
const page = await first.newPage();
await page.goto(login.href);
await page.waitForSelector("[data-feed=live]");
const storageState = await first.storageState();
await first.close();

const all = [];
for (let number = 0; number < Number(process.env.CALLBOARD_OPENED); number++) {
  // A context of its own begins with an empty cache.
  const context = await browser.newContext({ storageState });
  const page = await context.newPage();
  await page.addInitScript(() => {
    const look = () => {
      if (document.querySelector("li.row, .cluster-title")) window.listed ??= performance.now();
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  await page.goto(login.origin);
  await page.waitForFunction(() => window.listed !== undefined);
  all.push(
    await page.evaluate(() => ({
      painted: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0,
      listed: window.listed,
      bytes: [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
        .map((entry) => entry.encodedBodySize)
        .reduce((sum, size) => sum + size, 0),
    })),
  );
  await context.close();
}
await browser.close();
console.log(JSON.stringify(all));
