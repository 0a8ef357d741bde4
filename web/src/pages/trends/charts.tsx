// Thin drawings: bars from zero, lines with their names at their ends, no legend.
import { span } from "../../time/format";

/** Bars of one thing over time, stretched to the width there is. */
export function Bars({ values, label }: { values: { name: string; value: number }[]; label: string }) {
  const most = Math.max(1, ...values.map((one) => one.value));
  const width = 100 / Math.max(1, values.length);
  const thin = Math.min(width * 0.72, 2.4);
  return (
    <svg
      className="bars"
      viewBox="0 0 100 32"
      preserveAspectRatio="none"
      role="img"
      aria-label={`${label}: at most ${most} at a time; the table has the numbers`}
    >
      <line x1="0" x2="100" y1="31.5" y2="31.5" className="base" />
      {values.map((one, at) => {
        const height = one.value === 0 ? 0 : Math.max(1.5, (one.value / most) * 30);
        return (
          <rect
            key={at}
            x={(at + 0.5) * width - thin / 2}
            width={thin}
            y={31.5 - height}
            height={height}
            className="bar"
          >
            <title>{`${one.name}: ${one.value}`}</title>
          </rect>
        );
      })}
    </svg>
  );
}

interface Point {
  name: string;
  p50: number | null;
  p95: number | null;
}

const BOX = { width: 600, height: 180, left: 4, right: 96, top: 14, bottom: 22 };

/** A line breaks where nothing is known, instead of falling to zero. */
export function linePath(values: (number | null)[], most: number, box: { width: number; height: number }): string {
  let path = "";
  let isDown = false;
  values.forEach((value, at) => {
    if (value === null) {
      isDown = false;
      return;
    }
    const x = values.length === 1 ? box.width : (at / (values.length - 1)) * box.width;
    const y = box.height - (value / most) * box.height;
    // A line of no length with round ends is a dot, so a value without neighbours is seen.
    path += isDown ? `L${x.toFixed(1)} ${y.toFixed(1)}` : `M${x.toFixed(1)} ${y.toFixed(1)}h0`;
    isDown = true;
  });
  return path;
}

export function DurationLines({ points }: { points: Point[] }) {
  const known = points.flatMap((point) => [point.p50, point.p95]).filter((value) => value !== null);
  const most = Math.max(1, ...known);
  const inner = { width: BOX.width - BOX.left - BOX.right, height: BOX.height - BOX.top - BOX.bottom };
  const series = [
    { name: "p95", className: "line-high", values: points.map((point) => point.p95) },
    { name: "p50", className: "line-low", values: points.map((point) => point.p50) },
  ];
  return (
    <svg
      className="lines"
      viewBox={`0 0 ${BOX.width} ${BOX.height}`}
      role="img"
      aria-label={`Duration over time, at most ${span(most)}; the table has the numbers`}
    >
      <g transform={`translate(${BOX.left} ${BOX.top})`}>
        <line x1="0" x2={inner.width} y1={inner.height} y2={inner.height} className="base" />
        <line x1="0" x2={inner.width} y1="0" y2="0" className="grid" />
        <text x="0" y="-4" className="chart-text">
          {span(most)}
        </text>
        {series.map((one) => {
          const last = one.values.findLast((value) => value !== null) ?? null;
          return (
            <g key={one.name}>
              <path d={linePath(one.values, most, inner)} className={one.className} />
              {last !== null && (
                <text x={inner.width + 6} y={inner.height - (last / most) * inner.height + 4} className="chart-text">
                  {one.name} {span(last)}
                </text>
              )}
            </g>
          );
        })}
        <text x="0" y={inner.height + 16} className="chart-text">
          {points[0]?.name}
        </text>
        <text x={inner.width} y={inner.height + 16} className="chart-text chart-end">
          {points.at(-1)?.name}
        </text>
      </g>
    </svg>
  );
}

export interface Span {
  name: string;
  token: string;
  low: number | null;
  high: number | null;
}

/** A bar from zero to the middle and a thin line to the far end. The scale is a square root, so a second beside an hour is seen. */
export function RangeBars({ rows }: { rows: Span[] }) {
  const most = Math.max(1, ...rows.map((row) => row.high ?? row.low ?? 0));
  const part = (value: number | null) => `${Math.sqrt((value ?? 0) / most) * 100}%`;
  return (
    <ul className="range-bars">
      {rows.map((row) => (
        <li key={row.name} className={`tone-${row.token}`}>
          <span className="cut">{row.name}</span>
          <span className="range">
            <span className="range-high" style={{ width: part(row.high) }} />
            <span className="range-low" style={{ width: part(row.low) }} />
          </span>
          <span className="num">
            {span(row.low)} / {span(row.high)}
          </span>
        </li>
      ))}
    </ul>
  );
}
