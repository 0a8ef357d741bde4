import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { view } from "../samples";
import { Board } from "./board";

describe("the board", () => {
  let asked: string[];
  let cut: () => void;
  let say: (text: string) => void;
  let board: Board;
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

  beforeEach(() => {
    vi.useFakeTimers();
    asked = [];
    vi.stubGlobal("fetch", async (_url: string, init: RequestInit) => {
      asked.push(new Headers(init.headers).get("last-event-id") ?? "");
      return new Response(
        new ReadableStream<Uint8Array>({
          start: (stream) => {
            say = (text) => stream.enqueue(new TextEncoder().encode(text));
            cut = () => stream.error(new Error("cut"));
            init.signal?.addEventListener("abort", cut);
          },
        }),
      );
    });
    board = new Board();
  });
  afterEach(() => {
    board.feed.close();
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  it("starts the feed a little before the first document, once", async () => {
    board.seen(100);
    board.seen(200);
    await pass(0);
    expect(asked).toEqual(["80"]);
  });

  it("shows what is judged differently although nothing was recorded, and tells who reads documents", async () => {
    board.seen(100);
    await pass(0);
    const looks: string[] = [];
    board.onLook((one) => void looks.push(one.id));
    say(`event: look\ndata: ${JSON.stringify(view({ id: "a", chain: "Running · Process dead" }))}\n\n`);
    await pass(0);
    expect(board.entities.view("a")?.chain).toBe("Running · Process dead");
    expect(looks).toEqual(["a"]);
  });

  it("has everything read again after a cut", async () => {
    board.seen(100);
    await pass(0);
    const reread = vi.fn();
    board.onBack(reread);
    cut();
    await pass(300);
    expect(asked).toEqual(["80", "80"]);
    expect(reread).toHaveBeenCalledTimes(1);
  });
});
