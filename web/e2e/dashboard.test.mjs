// Drives the real program with a real browser. All tests share one process, because the login link works once.
import { after, before } from "node:test";
import { close, open } from "./support.mjs";

before(open);
after(close);

await import("./empty.mjs");
await import("./agreement.mjs");
await import("./attention.mjs");
await import("./evidence.mjs");
await import("./live.mjs");
await import("./looks.mjs");
await import("./start.mjs");
// Before the board: a crew that goes home when the board is quiet waits for tasks that other tests hold.
await import("./inbox.mjs");
await import("./board.mjs");
