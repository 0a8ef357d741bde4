import { describe, expect, it } from "vitest";
import { patchLines, visible } from "./patch";

describe("a patch", () => {
  it("is drawn from its first place on, each line by its mark", () => {
    const patch = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ f\n same\n-old\n+new\n";
    expect(patchLines(patch)).toEqual([
      { kind: "place", text: "@@ -1,2 +1,2 @@ f" },
      { kind: "same", text: " same" },
      { kind: "removed", text: "-old" },
      { kind: "added", text: "+new" },
    ]);
  });

  it("without lines says what git says", () => {
    const patch = "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n";
    expect(patchLines(patch).map((line) => line.text)).toEqual([
      "similarity index 100%",
      "rename from x",
      "rename to y",
    ]);
  });

  it("cannot steer what is read", () => {
    expect(visible("+a\u202eb\u001b[31m\tc")).toBe("+a\\u{202e}b\\u{1b}[31m\tc");
  });
});
