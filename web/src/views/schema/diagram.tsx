/** The schema as a picture: drag to move it, pinch, use Ctrl and the wheel or the keys to make it larger. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Schema } from "../../api/types";
import { useKeys } from "../../app/keys";
import { number } from "../../parts/times";
import { colourVariable } from "../../parts/types";
import { AskLink } from "./ask";
import { CARD, labelOf, MOST_LINES, pathOf, placed } from "./layout";
import { keyFirst, queryOfEdge, queryOfNode, type Stats, typeText } from "./shapes";

const STEP = 1.25;
const NARROW = 720;
const [SMALLEST, LARGEST] = [0.2, 2.5];

interface Look {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

export function Diagram({ schema, stats }: { schema: Schema; stats: Stats | null }) {
  const { nodes, edges } = schema.catalog;
  const [isNarrow, setNarrow] = useState(innerWidth < NARROW);
  const drawn = useMemo(() => placed(nodes, edges, isNarrow ? "TB" : "LR"), [schema, isNarrow]);
  const box = useRef<HTMLDivElement>(null);
  const [look, setLook] = useState<Look>({ scale: 1, x: 0, y: 0 });
  const fit = (): void => {
    const element = box.current;
    if (element === null || drawn.width === 0) return;
    const scale = Math.max(0.45, Math.min(1, element.clientWidth / drawn.width, element.clientHeight / drawn.height));
    const middle = (room: number, size: number): number => Math.max(0, (room - size * scale) / 2);
    setLook({ scale, x: middle(element.clientWidth, drawn.width), y: middle(element.clientHeight, drawn.height) });
  };
  const zoom = (by: number, at?: { x: number; y: number }): void => {
    const element = box.current;
    if (element === null) return;
    const { x, y } = at ?? { x: element.clientWidth / 2, y: element.clientHeight / 2 };
    setLook((before) => {
      const scale = Math.min(LARGEST, Math.max(SMALLEST, before.scale * by));
      const real = scale / before.scale;
      return { scale, x: x - (x - before.x) * real, y: y - (y - before.y) * real };
    });
  };
  const move = (x: number, y: number): void => setLook((before) => ({ ...before, x: before.x + x, y: before.y + y }));
  useEffect(() => {
    fit();
    const watch = new ResizeObserver(() => {
      setNarrow(innerWidth < NARROW);
      fit();
    });
    if (box.current !== null) watch.observe(box.current);
    return () => watch.disconnect();
  }, [drawn]);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const onWheel = (event: WheelEvent): void => {
      event.preventDefault();
      const frame = element.getBoundingClientRect();
      if (event.ctrlKey || event.metaKey) zoom(Math.exp(-event.deltaY / 300), { x: event.clientX - frame.left, y: event.clientY - frame.top });
      else move(-event.deltaX, -event.deltaY);
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, []);
  useKeys([
    { keys: "+", what: "Larger", run: () => zoom(STEP) },
    { keys: "-", what: "Smaller", run: () => zoom(1 / STEP) },
    { keys: "0", what: "Show the whole diagram", run: fit },
  ], [drawn]);
  const drag = useRef<{ x: number; y: number; isMoved: boolean } | null>(null);
  return (
    <div class="schema-diagram">
      <div
        class="schema-box"
        ref={box}
        tabIndex={0}
        role="group"
        aria-label="Diagram of the schema. The list says the same in words."
        onPointerDown={(event) => {
          if (event.button === 0) drag.current = { x: event.clientX, y: event.clientY, isMoved: false };
        }}
        onPointerMove={(event) => {
          const from = drag.current;
          if (from === null) return;
          const [x, y] = [event.clientX - from.x, event.clientY - from.y];
          if (!from.isMoved && Math.abs(x) + Math.abs(y) < 4) return;
          if (!from.isMoved) event.currentTarget.setPointerCapture(event.pointerId);
          drag.current = { x: event.clientX, y: event.clientY, isMoved: true };
          move(x, y);
        }}
        onPointerUp={() => setTimeout(() => (drag.current = null))}
        onPointerCancel={() => (drag.current = null)}
        onClickCapture={(event) => {
          // A drag that ends on a card is no click.
          if (drag.current?.isMoved) {
            event.preventDefault();
            event.stopPropagation();
          }
        }}
        onKeyDown={(event) => {
          const by = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
          if (by === undefined) return;
          event.preventDefault();
          move(by[0]!, by[1]!);
        }}
      >
        <div
          class="schema-sheet"
          style={{
            width: `${drawn.width}px`,
            height: `${drawn.height}px`,
            transform: `translate(${look.x}px, ${look.y}px) scale(${look.scale})`,
          }}
        >
          <svg width={drawn.width} height={drawn.height} aria-hidden="true">
            <defs>
              <marker id="schema-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
                <path d="M0 0L8 4L0 8z" fill="var(--line-strong)" />
              </marker>
            </defs>
            {drawn.arrows.map(({ edge, points }) => (
              <path
                key={edge.name}
                d={pathOf(points)}
                fill="none"
                stroke="var(--line-strong)"
                stroke-width="1.5"
                marker-end="url(#schema-tip)"
              />
            ))}
          </svg>
          {drawn.arrows.map(({ edge, label }) => (
            <AskLink
              key={edge.name}
              class="schema-label"
              style={{ left: `${label.x}px`, top: `${label.y}px` }}
              text={queryOfEdge(edge)}
              label={`${labelOf(edge)} from ${edge.source} to ${edge.target}: show some`}
            >
              {labelOf(edge)}
            </AskLink>
          ))}
          {drawn.cards.map(({ type, x, y, height }) => {
            const count = stats?.tables[`node:${type.name}`]?.row_count;
            const lines = keyFirst(type).slice(0, MOST_LINES);
            return (
              <AskLink
                key={type.name}
                class="schema-card"
                style={{ left: `${x}px`, top: `${y}px`, width: `${CARD}px`, height: `${height}px`, "--dot": colourVariable(type.name) }}
                text={queryOfNode(type)}
                label={`${type.name}${count === undefined ? "" : `, ${number(count)} of them`}: show some`}
              >
                <span class="schema-card-head">
                  <strong>{type.name}</strong>
                  {count !== undefined && <span class="soft">{number(count)}</span>}
                </span>
                {lines.map((property) => (
                  <span key={property.name} class="schema-line">
                    <span class="schema-property">
                      {type.key.includes(property.name) && <span class="schema-key">key</span>}
                      {property.name}
                    </span>
                    <span class="schema-type">{typeText(property)}</span>
                  </span>
                ))}
                {type.properties.length > MOST_LINES && (
                  <span class="schema-line soft">and {type.properties.length - MOST_LINES} more</span>
                )}
              </AskLink>
            );
          })}
        </div>
      </div>
      <div class="schema-tools row tight">
        <button type="button" aria-label="Smaller" title="Smaller (-)" onClick={() => zoom(1 / STEP)}>
          −
        </button>
        <button type="button" aria-label="Larger" title="Larger (+)" onClick={() => zoom(STEP)}>
          +
        </button>
        <button type="button" title="Show the whole diagram (0)" onClick={fit}>
          Fit
        </button>
      </div>
    </div>
  );
}
