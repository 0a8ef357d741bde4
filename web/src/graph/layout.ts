// Places a graph from left to right: the states of a machine, or the parts of a production.
//
// Invariant: a state stands right of every state it can be reached from without going back; edges that go back are drawn
// as arcs below. An edge over several columns is led through a free place in each, so it does not run through a state.

export interface Graph {
  states: string[];
  initial: string[];
  edges: { from: string; to: string }[];
}

export interface Placed {
  width: number;
  height: number;
  nodes: Map<string, { x: number; y: number }>;
  edges: { from: string; to: string; path: string; isBack: boolean }[];
}

export const NODE = { width: 168, height: 30 };
const GAP = { x: 40, y: 16 };
/** As much of a text as fits beside the icon, when this many characters are needed at the end. */
export function fitted(text: string, atEnd: number): string {
  const most = Math.floor((NODE.width - 40) / 6.8) - atEnd;
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

const WAYPOINT_HEIGHT = 8;
const MARGIN = 12;
const SWEEPS = 6;

interface Slot {
  name: string;
  rank: number;
  isState: boolean;
}

/** Edges that close a circle when the machine is walked from its start. */
function backEdges(graph: Graph): Set<string> {
  const back = new Set<string>();
  const done = new Set<string>();
  const onPath = new Set<string>();
  const visit = (state: string) => {
    onPath.add(state);
    for (const edge of graph.edges) {
      if (edge.from !== state) continue;
      if (onPath.has(edge.to)) back.add(`${edge.from} ${edge.to}`);
      else if (!done.has(edge.to)) visit(edge.to);
    }
    onPath.delete(state);
    done.add(state);
  };
  for (const state of [...graph.initial, ...graph.states]) if (!done.has(state)) visit(state);
  return back;
}

function ranks(graph: Graph, back: Set<string>): Map<string, number> {
  const rank = new Map(graph.states.map((state) => [state, 0]));
  // Without back edges the longest way has fewer steps than there are states.
  for (let round = 0; round < graph.states.length; round++) {
    for (const { from, to } of graph.edges) {
      if (back.has(`${from} ${to}`)) continue;
      rank.set(to, Math.max(rank.get(to) ?? 0, (rank.get(from) ?? 0) + 1));
    }
  }
  return rank;
}

export function place(graph: Graph): Placed {
  const back = backEdges(graph);
  const rank = ranks(graph, back);
  const columns: Slot[][] = [];
  const put = (slot: Slot) => {
    while (columns.length <= slot.rank) columns.push([]);
    columns[slot.rank]?.push(slot);
  };
  for (const state of graph.states) put({ name: state, rank: rank.get(state) ?? 0, isState: true });
  const links: [string, string][] = [];
  const ways = new Map<string, string[]>();
  for (const { from, to } of graph.edges) {
    if (back.has(`${from} ${to}`)) continue;
    const way = [from];
    for (let at = (rank.get(from) ?? 0) + 1; at < (rank.get(to) ?? 0); at++) {
      const name = `${from} ${to} ${at}`;
      put({ name, rank: at, isState: false });
      way.push(name);
    }
    way.push(to);
    ways.set(`${from} ${to}`, way);
    for (let at = 1; at < way.length; at++) links.push([way[at - 1] ?? "", way[at] ?? ""]);
  }
  order(columns, links);
  return draw(graph, columns, ways, back);
}

/** Orders each column by where its neighbours stand, to and fro. */
function order(columns: Slot[][], links: [string, string][]): void {
  const position = new Map<string, number>();
  const note = (column: Slot[]) => {
    for (const [at, slot] of column.entries()) position.set(slot.name, at / Math.max(1, column.length - 1) - 0.5);
  };
  columns.forEach(note);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const forward = sweep % 2 === 0;
    for (const column of forward ? columns : columns.toReversed()) {
      const mean = new Map(
        column.map((slot) => {
          const near = links
            .filter(([from, to]) => (forward ? to : from) === slot.name)
            .map(([from, to]) => position.get(forward ? from : to) ?? 0);
          const own = position.get(slot.name) ?? 0;
          return [slot.name, near.length ? near.reduce((sum, one) => sum + one, 0) / near.length : own];
        }),
      );
      column.sort((a, b) => (mean.get(a.name) ?? 0) - (mean.get(b.name) ?? 0));
      note(column);
    }
  }
}

function draw(graph: Graph, columns: Slot[][], ways: Map<string, string[]>, back: Set<string>): Placed {
  const heightOf = (slot: Slot) => (slot.isState ? NODE.height : WAYPOINT_HEIGHT);
  const heights = columns.map((column) => column.reduce((sum, slot) => sum + heightOf(slot) + GAP.y, -GAP.y));
  const tallest = Math.max(...heights, NODE.height);
  const points = new Map<string, { x: number; y: number }>();
  const nodes = new Map<string, { x: number; y: number }>();
  columns.forEach((column, at) => {
    let y = MARGIN + (tallest - (heights[at] ?? 0)) / 2;
    const x = MARGIN + at * (NODE.width + GAP.x);
    for (const slot of column) {
      const height = heightOf(slot);
      points.set(slot.name, { x, y: y + height / 2 });
      if (slot.isState) nodes.set(slot.name, { x, y });
      y += height + GAP.y;
    }
  });
  let lowest = tallest + MARGIN;
  const edges = graph.edges.map(({ from, to }) => {
    const isBack = back.has(`${from} ${to}`);
    if (!isBack)
      return {
        from,
        to,
        isBack,
        path: forwardPath(
          (ways.get(`${from} ${to}`) ?? []).map((name) => points.get(name)).filter((point) => point !== undefined),
        ),
      };
    lowest += 10;
    return { from, to, isBack, path: backPath(points.get(from), points.get(to), lowest) };
  });
  return {
    width: 2 * MARGIN + columns.length * NODE.width + (columns.length - 1) * GAP.x,
    height: lowest + MARGIN,
    nodes,
    edges,
  };
}

function forwardPath(way: { x: number; y: number }[]): string {
  const [first] = way;
  if (!first) return "";
  let path = `M${first.x + NODE.width} ${first.y}`;
  for (let at = 1; at < way.length; at++) {
    const from = way[at - 1] ?? first;
    const to = way[at] ?? first;
    const start = from.x + NODE.width;
    const middle = (start + to.x) / 2;
    path += `C${middle} ${from.y} ${middle} ${to.y} ${to.x} ${to.y}`;
    // Through a waypoint the line goes straight as wide as a state is.
    if (at < way.length - 1) path += `L${to.x + NODE.width} ${to.y}`;
  }
  return path;
}

function backPath(
  from: { x: number; y: number } | undefined,
  to: { x: number; y: number } | undefined,
  below: number,
): string {
  if (!from || !to) return "";
  const start = { x: from.x + NODE.width * 0.62, y: from.y + NODE.height / 2 };
  const end = { x: to.x + NODE.width * 0.38, y: to.y + NODE.height / 2 };
  return `M${start.x} ${start.y}C${start.x} ${below} ${start.x} ${below} ${start.x - 20} ${below}L${end.x + 20} ${below}C${end.x} ${below} ${end.x} ${below} ${end.x} ${end.y}`;
}
