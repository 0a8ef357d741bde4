import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { record, view } from "../samples";
import { Feed, type FeedState } from "./feed";

/** A server whose streams the test writes and cuts. */
class Server {
  asked: (string | null)[] = [];
  stream: ReadableStreamDefaultController<Uint8Array> | null = null;
  status = 200;

  readonly fetch = async (_url: string, init: RequestInit): Promise<Response> => {
    this.asked.push(new Headers(init.headers).get("last-event-id"));
    if (this.status !== 200) return new Response("{}", { status: this.status });
    const body = new ReadableStream<Uint8Array>({
      start: (stream) => {
        this.stream = stream;
        init.signal?.addEventListener("abort", () => stream.error(new Error("aborted")));
      },
    });
    return new Response(body);
  };

  say(text: string): void {
    this.stream?.enqueue(new TextEncoder().encode(text));
  }

  record(seq: number): void {
    this.say(`id: ${seq}\nevent: record\ndata: ${JSON.stringify(record({ seq }))}\n\n`);
  }
}

describe("feed", () => {
  let server: Server;
  let seqs: number[];
  let states: FeedState[];
  let looks: string[];
  let backs: number;
  let feed: Feed;
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

  beforeEach(() => {
    vi.useFakeTimers();
    server = new Server();
    vi.stubGlobal("fetch", server.fetch);
    seqs = [];
    states = [];
    looks = [];
    backs = 0;
    feed = new Feed({
      onRecord: (one) => void seqs.push(one.seq),
      onLook: (one) => void looks.push(one.chain),
      onState: (state) => void states.push(state),
      onBack: () => void backs++,
    });
  });
  afterEach(() => {
    feed.close();
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  it("continues after the last record it handed on, once and in order", async () => {
    feed.start(10);
    await pass(0);
    server.record(11);
    server.record(12);
    await pass(0);
    server.stream?.error(new Error("cut"));
    await pass(0);
    expect(states.at(-1)?.name).toBe("reconnecting");
    await pass(300);
    expect(server.asked).toEqual(["10", "12"]);
    server.record(12);
    server.record(13);
    await pass(0);
    expect(seqs).toEqual([11, 12, 13]);
    expect(states.at(-1)?.name).toBe("live");
    expect(backs).toBe(1);
  });

  it("begins anew where the server says that the place it named does not exist", async () => {
    feed.start(100);
    await pass(0);
    server.say('id: 7\nevent: reset\ndata: {"head":7}\n\n');
    server.record(8);
    await pass(0);
    expect(seqs).toEqual([8]);
    expect(feed.last).toBe(8);
    expect(backs).toBe(1);
  });

  it("hands on a look, which has no place in the log, and has everything read again when looks were missed", async () => {
    feed.start(10);
    await pass(0);
    server.record(11);
    server.say(`event: look\ndata: ${JSON.stringify(view({ chain: "Running · Process dead" }))}\n\n`);
    await pass(0);
    expect(looks).toEqual(["Running · Process dead"]);
    expect(feed.last).toBe(11);
    server.record(12);
    server.say('event: missed\ndata: {"looks":7}\n\n');
    await pass(0);
    expect([seqs, backs]).toEqual([[11, 12], 1]);
    server.stream?.error(new Error("cut"));
    await pass(300);
    expect(server.asked).toEqual(["10", "12"]);
  });

  it("says by how much it is behind, until it is not", async () => {
    feed.start(10);
    await pass(0);
    server.say('event: behind\ndata: {"head":13}\n\n');
    await pass(0);
    expect(states.at(-1)).toEqual({ name: "behind", by: 3 });
    for (const seq of [11, 12, 13]) server.record(seq);
    await pass(0);
    expect(states.at(-1)).toEqual({ name: "live" });
  });

  it("cuts a stream that is silent for too long", async () => {
    feed.start(0);
    await pass(0);
    await pass(39_000);
    expect(server.asked.length).toBe(1);
    await pass(2000);
    expect(server.asked.length).toBe(2);
  });

  it("gives its connection back while it is paused, and loses nothing", async () => {
    feed.start(10);
    await pass(0);
    server.record(11);
    await pass(0);
    feed.pause();
    await pass(600_000);
    expect(server.asked).toEqual(["10"]);
    feed.resume();
    await pass(0);
    expect(server.asked).toEqual(["10", "11"]);
    expect(feed.state.name).toBe("live");
    expect(backs).toBe(1);
  });

  it("stops asking when it is refused", async () => {
    server.status = 401;
    feed.start(0);
    await pass(60_000);
    expect(states.at(-1)).toEqual({ name: "refused", status: 401 });
    expect(server.asked.length).toBe(1);
  });

  it("waits longer and longer while the server is away, and tries at once when nudged", async () => {
    feed.start(0);
    await pass(0);
    server.status = 503;
    server.stream?.close();
    await pass(60_000);
    const tries = server.asked.length;
    expect(tries).toBeLessThan(20);
    server.status = 200;
    feed.nudge();
    await pass(0);
    expect(server.asked.length).toBe(tries + 1);
    expect(feed.state.name).toBe("live");
  });
});
