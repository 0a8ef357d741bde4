// Times and amounts as people read them: short in lists, absolute with zone in detail. Unknown is an em dash, never 0.

export const UNKNOWN = "—";

const UNITS: [string, number][] = [
  ["d", 86_400],
  ["h", 3600],
  ["m", 60],
  ["s", 1],
];

/** A span in one unit for a list ("4m"), rounded down. */
export function short(seconds: number | null): string {
  if (seconds === null || !Number.isFinite(seconds)) return UNKNOWN;
  const whole = Math.max(0, Math.floor(seconds));
  for (const [name, size] of UNITS) if (whole >= size) return `${Math.floor(whole / size)}${name}`;
  return "0s";
}

/** A span in two units for a duration ("4m 12s"); below ten seconds with one decimal where it is known. */
export function span(seconds: number | null): string {
  if (seconds === null || !Number.isFinite(seconds)) return UNKNOWN;
  if (seconds < 10 && !Number.isInteger(seconds)) return `${Math.max(0, seconds).toFixed(1)}s`;
  let rest = Math.max(0, Math.floor(seconds));
  const parts: string[] = [];
  for (const [name, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0 || (parts.length > 0 && parts.length < 2)) parts.push(`${count}${name}`);
    if (parts.length === 2) break;
  }
  return parts.filter((part, at) => at === 0 || !part.startsWith("0")).join(" ") || "0s";
}

export function secondsBetween(from: string | null, to: string | number | null): number | null {
  if (from === null || to === null) return null;
  const end = typeof to === "number" ? to : Date.parse(to);
  const seconds = (end - Date.parse(from)) / 1000;
  return Number.isFinite(seconds) ? seconds : null;
}

const ABSOLUTE = new Intl.DateTimeFormat("en-CA", {
  year: "numeric",
  month: "2-digit",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hour12: false,
  timeZoneName: "short",
});

/** A moment in this browser's zone, with the zone. */
export function absolute(at: string | null): string {
  if (at === null || Number.isNaN(Date.parse(at))) return UNKNOWN;
  return ABSOLUTE.format(new Date(at)).replace(",", "");
}

const CLOCK = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hour12: false,
});

export function clock(at: string | number): string {
  return CLOCK.format(new Date(at));
}

export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? UNKNOWN : value.toLocaleString("en");
}

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return UNKNOWN;
  if (value < 1000) return `${value} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let size = value / 1000;
  let at = 0;
  while (size >= 1000 && at < units.length - 1) {
    size /= 1000;
    at++;
  }
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${units[at]}`;
}

/** An id as people read it: its kind and its first twelve characters, which are unambiguous. */
export function shortId(id: string): string {
  const [prefix, rest] = id.split("_");
  return rest ? `${prefix}_${rest.slice(0, 12)}` : id.slice(0, 16);
}
