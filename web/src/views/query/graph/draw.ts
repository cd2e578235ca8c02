/** Sigma, in our colours. It reads 6-digit colours and rgba() only. */
import Sigma from "sigma";
import { drawDiscNodeLabel } from "sigma/rendering";
import type { NodeDisplayData, PartialButFor } from "sigma/types";
import type { Settings } from "sigma/settings";
import { colourNumber } from "../../../parts/types";
import type { DrawnEdge, DrawnNode, Picture } from "./picture";

export type Drawing = Sigma<DrawnNode, DrawnEdge>;

export interface Look {
  selected: string | null;
  hovered: string | null;
  /** Which property of a type is its caption; the label of the server if none is named. */
  captions: Readonly<Record<string, string>>;
}

const variable = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const LONGEST_LABEL = 32;
/** More edges than this say their name only beside the node that is looked at. */
const FEW_EDGES = 40;
/** More edges than this of one type in all: the legend names the type once. */
const FEW_ALIKE = 5;

/** Whether each edge says its name, and not the legend. */
export function namesEdges(picture: Picture): boolean {
  const { graph } = picture;
  const names = new Set(graph.mapEdges((_, edge) => edge.name));
  return graph.size <= (names.size === 1 ? FEW_ALIKE : FEW_EDGES);
}

interface Colours {
  readonly ink: string;
  readonly sheet: string;
  readonly line: string;
  readonly faint: string;
  readonly accent: string;
  readonly types: readonly string[];
}

function colours(): Colours {
  return {
    ink: variable("--ink"),
    sheet: variable("--sheet"),
    line: variable("--edge"),
    faint: variable("--line"),
    accent: variable("--accent"),
    types: Array.from({ length: 10 }, (_, at) => variable(`--type-${at + 1}`)),
  };
}

export function caption(node: DrawnNode, captions: Look["captions"]): string {
  const property = captions[node.type];
  const value = property === undefined ? undefined : node.properties[property];
  const text = value === undefined || value === null ? node.label : String(value);
  return text.length > LONGEST_LABEL ? `${text.slice(0, LONGEST_LABEL - 1)}…` : text;
}

export function draw(picture: Picture, holder: HTMLElement, look: Look): Drawing {
  let paint = colours();
  const graph = picture.graph;
  const captionsDrawn: Box[] = [];
  let isNamed = namesEdges(picture);
  const sizes = (key: string): number => Math.min(16, (graph.order > 2000 ? 2 : graph.order > 400 ? 3 : 6) + 1.4 * Math.sqrt(graph.degree(key)));
  const isNear = (key: string): boolean => look.hovered === null || key === look.hovered || graph.areNeighbors(key, look.hovered);
  const drawing: Drawing = new Sigma<DrawnNode, DrawnEdge>(graph, holder, {
    allowInvalidContainer: true,
    defaultEdgeType: "arrow",
    labelFont: variable("--text") || "sans-serif",
    labelSize: 12,
    labelWeight: "500",
    labelColor: { color: paint.ink },
    edgeLabelFont: variable("--text") || "sans-serif",
    edgeLabelSize: 10,
    edgeLabelColor: { color: variable("--soft") },
    renderEdgeLabels: true,
    labelDensity: 0.6,
    labelGridCellSize: 90,
    labelRenderedSizeThreshold: graph.order > 150 ? 8 : 4,
    stagePadding: padding(graph.order, holder),
    zIndex: true,
    minCameraRatio: 0.02,
    maxCameraRatio: 8,
    defaultDrawNodeLabel: (context, data, settings) => captionApart(context, data, settings, captionsDrawn),
    defaultDrawNodeHover: (context, data, settings) => hoverBox(context, data, settings, paint),
    nodeReducer: (key, node) => ({
      x: node.x,
      y: node.y,
      size: sizes(key) + (key === look.selected ? 3 : 0),
      label: `${node.isPinned ? "◆ " : ""}${caption(node, look.captions)}`,
      color: isNear(key) ? (paint.types[colourNumber(node.type) - 1] ?? paint.ink) : paint.faint,
      highlighted: key === look.selected,
      forceLabel: key === look.selected || graph.order <= 40,
      zIndex: key === look.selected || key === look.hovered ? 2 : 1,
    }),
    edgeReducer: (key, edge) => {
      const [from, to] = graph.extremities(key);
      const isTouched = look.hovered !== null && (from === look.hovered || to === look.hovered);
      const isMarked = look.selected !== null && (from === look.selected || to === look.selected);
      return {
        size: isTouched || isMarked ? 2 : 1.2,
        label: isNamed || isTouched ? edge.name : "",
        type: edge.isDirected ? "arrow" : "line",
        color: isTouched || isMarked ? paint.accent : look.hovered === null ? paint.line : paint.faint,
        zIndex: isTouched ? 1 : 0,
      };
    },
  });
  drawing.on("beforeRender", () => {
    captionsDrawn.length = 0;
    isNamed = namesEdges(picture);
  });
  repainters.set(drawing, () => {
    paint = colours();
    drawing.setSetting("labelColor", { color: paint.ink });
    drawing.setSetting("edgeLabelColor", { color: variable("--soft") });
    drawing.setSetting("stagePadding", padding(graph.order, holder));
    drawing.refresh();
  });
  return drawing;
}

/** Two nodes in opposite corners look lost: few of them get more air around. */
function padding(nodes: number, holder: HTMLElement): number {
  const wanted = nodes <= 3 ? 220 : nodes <= 12 ? 120 : 60;
  return Math.min(wanted, Math.min(holder.clientWidth, holder.clientHeight) / 3.2);
}

const repainters = new WeakMap<Drawing, () => void>();

/** Draws it in the colours of the theme that holds now. */
export function repaint(drawing: Drawing): void {
  repainters.get(drawing)?.();
}

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** Draws a caption where it covers no other: a larger picture has room for more, and pointing at a node shows its own. */
function captionApart(
  context: CanvasRenderingContext2D,
  data: PartialButFor<NodeDisplayData, "x" | "y" | "size" | "label" | "color">,
  settings: Settings<DrawnNode, DrawnEdge>,
  drawn: Box[],
): void {
  if (!data.label) return;
  context.font = `${settings.labelWeight} ${settings.labelSize}px ${settings.labelFont}`;
  const left = data.x + data.size + 3;
  const box: Box = {
    left,
    right: left + context.measureText(data.label).width,
    top: data.y - settings.labelSize / 2,
    bottom: data.y + settings.labelSize / 2,
  };
  if (drawn.some((other) => box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom)) return;
  drawn.push(box);
  drawDiscNodeLabel(context, data, settings);
}

function hoverBox(
  context: CanvasRenderingContext2D,
  data: PartialButFor<NodeDisplayData, "x" | "y" | "size" | "label" | "color">,
  settings: Settings<DrawnNode, DrawnEdge>,
  paint: Colours,
): void {
  context.font = `${settings.labelWeight} ${settings.labelSize}px ${settings.labelFont}`;
  const label = data.label ?? "";
  const width = label === "" ? 0 : context.measureText(label).width + 10;
  const height = settings.labelSize + 10;
  context.beginPath();
  context.arc(data.x, data.y, data.size + 3, 0, 2 * Math.PI);
  context.lineWidth = 2;
  context.strokeStyle = paint.accent;
  context.stroke();
  if (width === 0) return;
  context.beginPath();
  context.roundRect(data.x + data.size + 4, data.y - height / 2, width, height, 5);
  context.fillStyle = paint.sheet;
  context.fill();
  context.lineWidth = 1;
  context.stroke();
  context.fillStyle = paint.ink;
  context.fillText(label, data.x + data.size + 9, data.y + settings.labelSize / 3);
}
