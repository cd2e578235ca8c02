/** Where the cards stand and how the arrows run. */
import { Graph, layout } from "@dagrejs/dagre";
import type { EdgeType, NodeType } from "../../api/types";
import { cardinality } from "./shapes";

export const CARD = 230;
const HEAD = 38;
const LINE = 22;
const FOOT = 8;
/** More properties than these are told by their number. */
export const MOST_LINES = 12;
const LETTER = 7;
/** Room below a card for each edge that comes back to it. */
const LOOP = 34;
const LOOP_WIDTH = 44;

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Placed {
  readonly width: number;
  readonly height: number;
  readonly cards: readonly { readonly type: NodeType; readonly x: number; readonly y: number; readonly height: number }[];
  readonly arrows: readonly { readonly edge: EdgeType; readonly points: readonly Point[]; readonly label: Point }[];
}

export const heightOf = (type: NodeType): number => {
  const lines = Math.min(type.properties.length, MOST_LINES) + (type.properties.length > MOST_LINES ? 1 : 0);
  return HEAD + lines * LINE + FOOT;
};

export const labelOf = (edge: EdgeType): string => {
  const bounds = cardinality(edge);
  return bounds === null ? edge.name : `${edge.name} ${bounds}`;
};

/** Edges that come back to their own type hang below its card: a layout of layers has no place for them. */
export function placed(nodes: readonly NodeType[], edges: readonly EdgeType[], direction: "LR" | "TB"): Placed {
  const graph = new Graph({ multigraph: true, directed: true });
  graph.setGraph({ rankdir: direction, nodesep: 28, edgesep: 18, ranksep: 50, marginx: 16, marginy: 16 });
  const known = new Set(nodes.map((node) => node.name));
  // An end may be an interface, which has no card.
  const drawable = edges.filter((edge) => known.has(edge.source) && known.has(edge.target));
  const loops = new Map(
    nodes.map((node) => [node.name, drawable.filter((edge) => edge.source === node.name && edge.target === node.name)]),
  );
  const roomOf = (type: NodeType): number => (loops.get(type.name)?.length ?? 0) * LOOP;
  for (const node of nodes) graph.setNode(node.name, { width: CARD, height: heightOf(node) + roomOf(node) });
  const between = drawable.filter((edge) => edge.source !== edge.target);
  for (const edge of between) {
    const width = labelOf(edge).length * LETTER + 16;
    graph.setEdge(edge.source, edge.target, { width, height: 22, labelpos: "c" }, edge.name);
  }
  layout(graph);
  const size = graph.graph() as { width?: number; height?: number };
  const cards = nodes.map((type) => {
    const at = graph.node(type.name) as Point;
    const height = heightOf(type);
    return { type, x: at.x - CARD / 2, y: at.y - (height + roomOf(type)) / 2, height };
  });
  // An arrow begins below the room for loops: a stub leads it from the card itself.
  const stub = (name: string, first: Point | undefined): Point[] => {
    const card = cards.find(({ type }) => type.name === name);
    const isBelow = card !== undefined && first !== undefined && first.y > card.y + card.height + 1;
    return isBelow ? [{ x: first.x, y: card.y + card.height }] : [];
  };
  return {
    width: size.width ?? 0,
    height: size.height ?? 0,
    cards,
    arrows: [
      ...between.map((edge) => {
        const at = graph.edge(edge.source, edge.target, edge.name) as unknown as Point & { points: Point[] };
        return { edge, points: [...stub(edge.source, at.points[0]), ...at.points], label: { x: at.x, y: at.y } };
      }),
      ...cards.flatMap(({ type, x, y, height }) =>
        (loops.get(type.name) ?? []).map((edge, at) => looped(edge, { x: x + CARD / 2, y: y + height }, at)),
      ),
    ],
  };
}

/** Down from the card, along, and up to it again; the next one goes around those before it. */
function looped(edge: EdgeType, middle: Point, at: number): Placed["arrows"][number] {
  const half = LOOP_WIDTH + at * 22;
  const low = middle.y + 22 + at * LOOP;
  const points = [
    { x: middle.x - half, y: middle.y },
    { x: middle.x - half, y: low },
    { x: middle.x, y: low },
    { x: middle.x + half, y: low },
    { x: middle.x + half, y: middle.y },
  ];
  return { edge, points, label: { x: middle.x, y: low } };
}

/** A soft line through the points. */
export function pathOf(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  const last = rest.at(-1) ?? first;
  let path = `M${first.x} ${first.y}`;
  for (let at = 0; at < rest.length - 1; at++) {
    const [point, next] = [rest[at]!, rest[at + 1]!];
    path += `Q${point.x} ${point.y} ${(point.x + next.x) / 2} ${(point.y + next.y) / 2}`;
  }
  return `${path}L${last.x} ${last.y}`;
}
