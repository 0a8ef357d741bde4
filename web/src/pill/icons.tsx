// The icons of the vocabulary, as thin strokes on a 12 by 12 grid. The names are the server's; one it adds later is drawn as
// a question mark until it has a drawing here.

const PATHS: Record<string, string> = {
  activity: "M1 6h2.2l1.6-4 2.4 8 1.6-4H11",
  alert: "M6 1.8v5.4M6 9.8v.2",
  archive: "M2 2.5h8v7H2z",
  blocked: "M6 1.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M4.2 4.2l3.6 3.6M7.8 4.2 4.2 7.8",
  caret: "M4 2.5 8 6 4 9.5",
  check: "M2 6.4 4.8 9 10 3.2",
  clock: "M6 1.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M6 3.6V6l1.8 1.2",
  dash: "M2.5 6h7",
  half: "M6 1.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M6 1.5v9M4.4 3v6M3 4.2v3.6",
  hand: "M3 7V4.2M5 6V2.2M7 6V2.4M9 6.6V3.8M3 7c0 2.2 1.3 3.5 3.2 3.5S9 9.2 9 6.6",
  hourglass: "M3 1.5h6M3 10.5h6M3.6 1.5c0 2.6 4.8 3.4 4.8 9M8.4 1.5c0 2.6-4.8 3.4-4.8 9",
  merge: "M2 4h6.5M6.6 2 8.6 4l-2 2M10 8H3.5M5.4 6l-2 2 2 2",
  pause: "M4.2 2.5v7M7.8 2.5v7",
  question: "M4 4.2c0-1.2.9-2 2-2s2 .8 2 1.9c0 1.4-2 1.5-2 3.2M6 9.6v.2",
  skip: "M2.5 3 5.5 6l-3 3M6.5 3l3 3-3 3",
  slash: "M6 1.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M2.9 9.1l6.2-6.2",
  stop: "M3 3h6v6H3z",
  unlink: "M5 3.6 6.6 2a2.4 2.4 0 0 1 3.4 3.4L8.4 7M7 8.4 5.4 10A2.4 2.4 0 0 1 2 6.6L3.6 5",
  "x-circle": "M6 1.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M4.4 4.4l3.2 3.2M7.6 4.4 4.4 7.6",
};

export function iconPath(name: string): string {
  return PATHS[name] ?? PATHS.question ?? "";
}

export function Icon({ name, size = 12 }: { name: string; size?: number }) {
  return (
    <svg className="icon" viewBox="0 0 12 12" width={size} height={size} aria-hidden="true" focusable="false">
      <path d={iconPath(name)} />
    </svg>
  );
}
