// The mark that says how fresh the page is: live, behind by N, or reconnecting.
import { useFeedState } from "../state/board";
import { clock, count } from "../time/format";

export function FeedMark() {
  const feed = useFeedState();
  const [text, title] = (() => {
    switch (feed.name) {
      case "live":
        return ["live", "Every change is shown as it is recorded."];
      case "behind":
        return [`behind by ${count(feed.by)}`, "Records are still being read; what is shown is a little old."];
      case "reconnecting":
        return [
          `reconnecting, as of ${clock(feed.since)}`,
          `No word from the server since ${clock(feed.since)}. What is shown is from then.`,
        ];
      case "refused":
        return ["signed out", "The server does not know this browser."];
      case "connecting":
        return ["connecting", "The feed is being opened."];
    }
  })();
  return (
    <output className={`mark mark-${feed.name}`} title={title} data-feed={feed.name}>
      <span className="mark-dot" aria-hidden="true" />
      {text}
    </output>
  );
}
