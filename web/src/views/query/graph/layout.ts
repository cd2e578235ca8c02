/** Where nodes lie. Few are laid out at once and never move; many move for some seconds, off the main thread. */
import forceAtlas2 from "graphology-layout-forceatlas2";
import Worker from "graphology-layout-forceatlas2/worker";
import type { Picture } from "./picture";

const AT_ONCE = 400;
const LONGEST_MS = 8_000;

export interface Layout {
  /** Ends it early. */
  readonly stop: () => void;
}

// Strong gravity keeps parts that no edge joins close to each other: they would drift out of sight.
const settingsFor = (nodes: number) => ({
  gravity: nodes > 200 ? 0.02 : 0.05,
  strongGravityMode: true,
  scalingRatio: 10,
  slowDown: 2,
  barnesHutOptimize: nodes > 300,
  outboundAttractionDistribution: false,
});

/**
 * Lays a picture out. With `only`, all other nodes stay where they are.
 *
 * `onEnd` is called when it is done, at once for a small picture: then null is returned.
 */
export function layOut(picture: Picture, only: readonly string[] | null, onEnd: () => void): Layout | null {
  const { graph } = picture;
  const moving = only === null ? null : new Set(only);
  if (moving !== null) graph.forEachNode((key, node) => graph.setNodeAttribute(key, "fixed", node.isPinned || !moving.has(key)));
  const finish = (): void => {
    if (moving !== null) graph.forEachNode((key, node) => graph.setNodeAttribute(key, "fixed", node.isPinned));
    onEnd();
  };
  if (graph.order < 2 || moving?.size === 0) {
    finish();
    return null;
  }
  const settings = settingsFor(graph.order);
  if (graph.order <= AT_ONCE || matchMedia("(prefers-reduced-motion: reduce)").matches) {
    const iterations = Math.max(20, Math.min(300, Math.round(60_000 / graph.order)));
    forceAtlas2.assign(graph, { iterations, settings });
    finish();
    return null;
  }
  const worker = new Worker(graph, { settings });
  let isOver = false;
  const stop = (): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    worker.kill();
    finish();
  };
  const timer = setTimeout(stop, LONGEST_MS);
  worker.start();
  return { stop };
}
