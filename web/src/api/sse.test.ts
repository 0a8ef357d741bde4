import { describe, expect, it } from "vitest";
import { EventReader } from "./sse";

describe("server-sent events", () => {
  const text =
    ': keep\nretry: 1000\nid: 7\nevent: record\ndata: {"a":1}\n\nid: 8\r\nevent: record\r\ndata: x\r\ndata: y\r\n\r\n';

  it("reads the same events however the stream is cut into pieces", () => {
    const whole = new EventReader().push(text);
    expect(whole).toEqual([
      { id: "7", event: "record", data: '{"a":1}' },
      { id: "8", event: "record", data: "x\ny" },
    ]);
    for (let size = 1; size < text.length; size++) {
      const reader = new EventReader();
      const events = [];
      for (let at = 0; at < text.length; at += size) events.push(...reader.push(text.slice(at, at + size)));
      expect(events).toEqual(whole);
    }
  });

  it("hands on nothing of an event that is not complete", () => {
    expect(new EventReader().push("id: 9\nevent: record\ndata: z\n")).toEqual([]);
  });
});
