/** The answer as a picture. The table is its twin for who can't see it; a list of its nodes is beside it. */
import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { QueryAnswer } from "../../../api/types";
import { shown } from "../../../api/values";
import { theme } from "../../../app/theme";
import { Icon } from "../../../parts/icons";
import { counted, number } from "../../../parts/times";
import { Dot } from "../../../parts/types";
import { selected } from "../selection";
import { acting, type Acting } from "./acting";
import { caption, draw, type Drawing, type Look, repaint } from "./draw";
import { expand } from "./expand";
import { type Layout, layOut } from "./layout";
import { Legend } from "./legend";
import { DRAWN_AT_FIRST, keyOf, Picture } from "./picture";

/** How many neighbours an expansion adds at most. */
export const limit = signal(25);
const captions = signal<Readonly<Record<string, string>>>({});
const isListed = signal(false);
const LISTED = 200;
const TWO_CLICKS_MS = 240;

let latest: { readonly of: QueryAnswer; readonly picture: Picture } | null = null;

/** The picture of an answer. It is kept while the answer is shown as a table; another answer keeps places. */
function pictureOf(answer: QueryAnswer, most: number): Picture {
  if (latest?.of === answer && latest.picture.most >= most) return latest.picture;
  const picture = new Picture(answer.graph!, most, latest?.picture ?? null);
  latest = { of: answer, picture };
  return picture;
}

export function GraphView({ answer }: { answer: QueryAnswer }) {
  const [most, setMost] = useState(DRAWN_AT_FIRST);
  const picture = useMemo(() => pictureOf(answer, most), [answer, most]);
  const holder = useRef<HTMLDivElement>(null);
  const drawing = useRef<Drawing | null>(null);
  const layout = useRef<Layout | null>(null);
  const look = useRef<Look>({ selected: null, hovered: null, captions: captions.peek() });
  const [hovered, setHovered] = useState<string | null>(null);
  const [isMoving, setIsMoving] = useState(false);
  const graph = picture.graph;
  void picture.version.value;

  const arrange = (only: readonly string[] | null): void => {
    layout.current?.stop();
    setIsMoving(true);
    layout.current = layOut(picture, only, () => {
      setIsMoving(false);
      layout.current = null;
      // A drag had held the frame still; what is new must be inside of it.
      drawing.current?.setCustomBBox(null);
      drawing.current?.refresh();
    });
  };

  useEffect(() => {
    const renderer = (drawing.current = draw(picture, holder.current!, look.current));
    const isNew = graph.everyNode((_, node) => !node.isPinned) && !arranged.has(picture);
    if (isNew) arrange(null);
    arranged.add(picture);
    const drag = dragging(renderer, picture);
    // The panel opens over the picture: not before it is known that no second click is to come.
    let later: ReturnType<typeof setTimeout> | undefined;
    renderer.on("clickNode", ({ node }) => {
      clearTimeout(later);
      if (drag.isJustOver()) return;
      later = setTimeout(() => {
        if (!graph.hasNode(node)) return;
        select(node);
        bringIntoSight(renderer, picture, node);
      }, TWO_CLICKS_MS);
    });
    renderer.on("clickStage", () => (selected.value = null));
    renderer.on("enterNode", ({ node }) => hover(node));
    renderer.on("leaveNode", () => hover(null));
    renderer.on("doubleClickNode", ({ node, preventSigmaDefault }) => {
      preventSigmaDefault();
      clearTimeout(later);
      act.expand(node, null);
    });
    acting.value = act;
    return () => {
      acting.value = null;
      clearTimeout(later);
      layout.current?.stop();
      renderer.kill();
      drawing.current = null;
    };
  }, [picture]);

  useEffect(() => {
    if (drawing.current !== null) repaint(drawing.current);
  }, [theme.value, picture.version.value]);

  const chosen = selected.value;
  const chosenKey = chosen === null ? null : keyOf(chosen.type, chosen.id);
  useEffect(() => {
    look.current.selected = chosenKey !== null && graph.hasNode(chosenKey) ? chosenKey : null;
    look.current.captions = captions.value;
    drawing.current?.refresh();
  }, [chosenKey, captions.value, picture]);

  const hover = (key: string | null): void => {
    look.current.hovered = key;
    setHovered(key);
    drawing.current?.refresh({ skipIndexation: true });
  };
  const select = (key: string): void => {
    const node = graph.getNodeAttributes(key);
    selected.value = { type: node.type, id: node.id };
  };
  const act: Acting = {
    expand: (key, kind) =>
      void expand(picture, key, kind, limit.peek()).then((fresh) => {
        if (fresh.length > 0) arrange(fresh);
      }),
    dismiss: (key) => {
      picture.dismiss(key);
      if (look.current.hovered === key) hover(null);
      if (look.current.selected === key) selected.value = null;
    },
    pin: (key) => picture.pin(key, !graph.getNodeAttribute(key, "isPinned")),
    isPinned: (key) => graph.hasNode(key) && graph.getNodeAttribute(key, "isPinned"),
    has: (key) => graph.hasNode(key),
    version: picture.version,
  };

  const fit = (): void => {
    drawing.current?.setCustomBBox(null);
    drawing.current?.refresh();
    void drawing.current?.getCamera().animatedReset({ duration: 150 });
  };

  const onKey = (event: KeyboardEvent): void => {
    const key = look.current.selected;
    const mod = event.ctrlKey || event.metaKey;
    const arrows: Record<string, readonly [number, number]> = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
    const way = arrows[event.key];
    if (way !== undefined) {
      const next = nextNode(picture, key, way);
      if (next !== null) {
        select(next);
        if (drawing.current !== null) bringIntoSight(drawing.current, picture, next);
      }
    } else if (event.key === "Enter" && key !== null && !mod) act.expand(key, null);
    else if ((event.key === "Delete" || event.key === "x") && key !== null) act.dismiss(key);
    else if (event.key === "p" && key !== null) act.pin(key);
    else if (event.key === "u" || (mod && event.key === "z")) picture.undo();
    else if (event.key === "Escape") selected.value = null;
    else if (event.key === "+" || event.key === "=") void drawing.current?.getCamera().animatedZoom({ duration: 120 });
    else if (event.key === "-") void drawing.current?.getCamera().animatedUnzoom({ duration: 120 });
    else if (event.key === "0") fit();
    else return;
    event.preventDefault();
  };

  const all = answer.graph!.nodes.length;
  const isCut = picture.most < all;
  const total = answer.graph!.node_count;
  const tip = hovered !== null && graph.hasNode(hovered) ? graph.getNodeAttributes(hovered) : null;
  return (
    <div class="results-body graph">
      <div
        class="graph-canvas"
        ref={holder}
        tabIndex={0}
        role="application"
        aria-label={`Picture of ${counted(graph.order, "node")} and ${counted(graph.size, "edge")}. Arrow keys choose a node, Enter shows its neighbours, x takes it away, p pins it, u undoes. The table shows the same rows.`}
        onKeyDown={onKey}
      />
      <Legend picture={picture} captions={captions} />
      {tip !== null && (
        <div class="graph-tip card" aria-hidden="true">
          <div class="row tight">
            <Dot type={tip.type} />
            <strong>{caption(tip, captions.value)}</strong>
            <span class="soft">{tip.type}</span>
          </div>
          {Object.entries(tip.properties)
            .filter(([, value]) => value !== null && !Array.isArray(value))
            .slice(0, 7)
            .map(([name, value]) => (
              <div key={name} class="graph-tip-line">
                <span class="soft">{name}</span> {shown(value).slice(0, 90)}
              </div>
            ))}
        </div>
      )}
      {isListed.value && (
        <section class="graph-list" aria-label="Nodes of the picture">
          <ul class="plain-list">
            {graph
              .nodes()
              .slice(0, LISTED)
              .map((key) => {
                const node = graph.getNodeAttributes(key);
                return (
                  <li key={key}>
                    <button type="button" class="quiet" aria-pressed={key === chosenKey} onClick={() => select(key)}>
                      <Dot type={node.type} />
                      {caption(node, captions.value)}
                    </button>
                  </li>
                );
              })}
          </ul>
          {graph.order > LISTED && <p class="soft small">The first {LISTED}. The table has all.</p>}
        </section>
      )}
      <footer class="row results-foot">
        <span class="soft grow" role="status">
          {isMoving && graph.order > 400 ? "Laying out … " : ""}
          {graph.order < total
            ? `${number(graph.order)} of ${counted(total, "node")} ${isCut ? "are drawn, so that it stays quick." : "are drawn: the most that a picture takes."}`
            : `${counted(graph.order, "node")}, ${counted(graph.size, "edge")}.`}
        </span>
        {isCut && (
          <button type="button" class="quiet" onClick={() => setMost(all)}>
            Draw all {number(all)}
          </button>
        )}
        {isMoving && graph.order > 400 && (
          <button type="button" class="quiet" onClick={() => layout.current?.stop()}>
            Stop
          </button>
        )}
        <label class="row tight soft" title="How many neighbours an expansion adds at most">
          Expand by
          <select value={limit.value} onChange={(event) => (limit.value = Number(event.currentTarget.value))}>
            {[10, 25, 50, 100, 250].map((count) => (
              <option key={count} value={count}>
                {count}
              </option>
            ))}
          </select>
        </label>
        <button type="button" class="quiet" aria-pressed={isListed.value} onClick={() => (isListed.value = !isListed.value)}>
          <Icon name="table" size={16} /> List
        </button>
        <button type="button" class="quiet" disabled={!picture.canUndo} onClick={() => picture.undo()}>
          <Icon name="undo" size={16} /> Undo
        </button>
        <button type="button" class="quiet" onClick={() => arrange(null)}>
          Lay out
        </button>
        <button type="button" class="quiet" onClick={fit}>
          Fit
        </button>
      </footer>
    </div>
  );
}

const arranged = new WeakSet<Picture>();

/** The nearest node in a direction; from nowhere, the one with the most edges. */
function nextNode(picture: Picture, from: string | null, [dx, dy]: readonly [number, number]): string | null {
  const { graph } = picture;
  if (from === null || !graph.hasNode(from)) {
    let best: string | null = null;
    graph.forEachNode((key) => {
      if (best === null || graph.degree(key) > graph.degree(best)) best = key;
    });
    return best;
  }
  const here = graph.getNodeAttributes(from);
  let best: string | null = null;
  let least = Infinity;
  graph.forEachNode((key, node) => {
    if (key === from) return;
    const along = (node.x - here.x) * dx + (node.y - here.y) * dy;
    if (along <= 0) return;
    const aside = Math.abs((node.x - here.x) * dy - (node.y - here.y) * dx);
    const cost = along + 2 * aside;
    if (cost < least) [best, least] = [key, cost];
  });
  return best;
}

/** How much of the right side the panel hides, with some air. */
const PANEL = 380;

/** Moves the picture if a node is outside of it, or under the panel. */
function bringIntoSight(renderer: Drawing, picture: Picture, key: string): void {
  const { x, y } = renderer.graphToViewport(picture.graph.getNodeAttributes(key));
  const { width, height } = renderer.getDimensions();
  const right = width > 2 * PANEL ? width - PANEL : width - 40;
  const to = { x: Math.min(Math.max(x, 40), right), y: Math.min(Math.max(y, 40), height - 40) };
  if (to.x === x && to.y === y) return;
  const [from, wanted] = [renderer.viewportToFramedGraph({ x, y }), renderer.viewportToFramedGraph(to)];
  const camera = renderer.getCamera();
  const state = camera.getState();
  camera.setState({ x: state.x + from.x - wanted.x, y: state.y + from.y - wanted.y });
}

/** A node that is drawn with the mouse to another place stays there. */
function dragging(renderer: Drawing, picture: Picture): { readonly isJustOver: () => boolean } {
  let key: string | null = null;
  let isMoved = false;
  renderer.on("downNode", ({ node }) => {
    key = node;
    isMoved = false;
    // Otherwise the picture would grow with the node, and everything else move.
    if (!renderer.getCustomBBox()) renderer.setCustomBBox(renderer.getBBox());
  });
  const mouse = renderer.getMouseCaptor();
  mouse.on("mousemovebody", (event) => {
    if (key === null || !picture.graph.hasNode(key)) return;
    isMoved = true;
    const place = renderer.viewportToGraph(event);
    picture.graph.mergeNodeAttributes(key, { x: place.x, y: place.y, fixed: true });
    event.preventSigmaDefault();
    event.original.preventDefault();
    event.original.stopPropagation();
  });
  mouse.on("mouseup", () => {
    if (key !== null && isMoved && picture.graph.hasNode(key) && !picture.graph.getNodeAttribute(key, "isPinned")) picture.pin(key, true);
    key = null;
  });
  return { isJustOver: () => isMoved };
}
