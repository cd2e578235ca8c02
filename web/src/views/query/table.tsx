/** Rows as a table: only what is on the screen is in the page; sorted by a click on a column. */
import { signal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import type { QueryAnswer } from "../../api/types";
import { compare, jsonText, shown } from "../../api/values";
import { copy, csvCell, save } from "../../parts/clipboard";
import { Icon } from "../../parts/icons";
import { counted, number } from "../../parts/times";
import { Dot } from "../../parts/types";
import { useVirtual } from "../../parts/virtual";
import { selected } from "./selection";

const ROW = 30;
const NUMBERS = /^(u?int|float|double)/;

interface Sorting {
  readonly column: string;
  readonly isDown: boolean;
}

const sorting = signal<Sorting | null>(null);

type Row = QueryAnswer["rows"][number];

/** A cell of a megabyte would be as slow as thousands of others. */
const LONGEST_CELL = 600;
const cut = (text: string): string => (text.length > LONGEST_CELL ? `${text.slice(0, LONGEST_CELL)}…` : text);

/** The id of a node that a cell holds; null for a plain value. */
function nodeIn(value: unknown): string | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const id = (value as Record<string, unknown>).id;
  return typeof id === "string" ? id : null;
}

function widths(answer: QueryAnswer): number[] {
  return answer.columns.map((column) => {
    const longest = answer.rows.slice(0, 200).reduce((most, row) => {
      const id = nodeIn(row[column.name]);
      return Math.max(most, (id ?? shown(row[column.name])).length + (id === null ? 0 : 3));
    }, column.name.length + 3);
    return Math.min(Math.max(longest, 7), 60);
  });
}

export function Table({ answer }: { answer: QueryAnswer }) {
  const scroller = useRef<HTMLDivElement>(null);
  const order = sorting.value;
  const rows = useMemo<readonly Row[]>(() => {
    if (order === null || !answer.columns.some((column) => column.name === order.column)) return answer.rows;
    const sign = order.isDown ? -1 : 1;
    return answer.rows.toSorted((a, b) => sign * compare(a[order.column], b[order.column]));
  }, [answer, order]);
  // One width for all rows, whatever is in them: columns must stand below their names.
  const grid = useMemo(() => {
    const all = widths(answer).map((width) => width + 2);
    return {
      gridTemplateColumns: `56px ${all.map((width) => `minmax(${width}ch, ${width}fr)`).join(" ")}`,
      width: `max(100%, calc(${all.reduce((sum, width) => sum + width, 0)}ch + 56px))`,
    };
  }, [answer]);
  const { items, height } = useVirtual(rows.length, ROW, scroller);
  const typeOf = useMemo(() => typesOf(answer), [answer]);
  return (
    <div class="results-body">
      <div class="table" ref={scroller} tabIndex={0} role="table" aria-label="Rows" aria-rowcount={rows.length + 1}>
        <div class="table-row table-head" role="row" aria-rowindex={1} style={grid}>
          <span role="columnheader" class="soft number">
            #
          </span>
          {answer.columns.map((column) => {
            const isHere = order?.column === column.name;
            return (
              <span
                key={column.name}
                role="columnheader"
                aria-sort={isHere ? (order.isDown ? "descending" : "ascending") : "none"}
                class={NUMBERS.test(column.type) ? "number" : ""}
              >
                <button type="button" class="sort" title={`${column.name}: ${column.type}. Sort by it.`} onClick={() => (sorting.value = next(column.name))}>
                  <span>{column.name}</span>
                  <span aria-hidden="true">{isHere ? (order.isDown ? "▼" : "▲") : ""}</span>
                </button>
              </span>
            );
          })}
        </div>
        <div class="table-rows" role="rowgroup" style={{ height: `${height}px` }}>
          {items.map((item) => {
            const row = rows[item.index]!;
            return (
              <div
                key={item.index}
                role="row"
                aria-rowindex={item.index + 2}
                class={item.index % 2 === 0 ? "table-row" : "table-row odd"}
                style={{ ...grid, transform: `translateY(${item.start}px)` }}
              >
                <span role="cell" class="soft number">
                  {item.index + 1}
                </span>
                {answer.columns.map((column) => {
                  const value = row[column.name];
                  const text = cut(shown(value));
                  const id = nodeIn(value);
                  const type = id === null ? undefined : typeOf(column.name, id);
                  return (
                    <span role="cell" key={column.name} class={NUMBERS.test(column.type) ? "number" : ""} title={text}>
                      {id !== null && type !== undefined ? (
                        <button type="button" class="node" onClick={() => (selected.value = { type, id })}>
                          <Dot type={type} />
                          {id}
                        </button>
                      ) : value === null || value === undefined ? (
                        <span class="soft">–</span>
                      ) : (
                        text
                      )}
                    </span>
                  );
                })}
              </div>
            );
          })}
        </div>
      </div>
      <footer class="row results-foot">
        <span class="soft grow">
          {answer.rows.length < answer.row_count
            ? `The first ${number(answer.rows.length)} of ${counted(answer.row_count, "row")}. A limit, or a count in the query, says more than scrolling.`
            : counted(answer.row_count, "row")}
        </span>
        <button type="button" class="quiet" onClick={() => void copy(separated(answer, rows, "\t", plainCell), counted(rows.length, "row"))}>
          <Icon name="copy" size={16} /> Copy
        </button>
        <button type="button" class="quiet" onClick={() => save(separated(answer, rows, ",", csvCell), `${answer.query_name}.csv`, "text/csv")}>
          <Icon name="save" size={16} /> CSV
        </button>
      </footer>
    </div>
  );
}

/**
 * Finds the type of a node in a cell. Rows don't say it; the nodes of the answer do.
 *
 * Two types may share an id, and an answer may hold more nodes than it tells of: then the type that others of
 * the column have is the best guess.
 */
function typesOf(answer: QueryAnswer): (column: string, id: string) => string | undefined {
  const byId = new Map<string, string[]>();
  for (const node of answer.graph?.nodes ?? []) byId.set(node.id, [...(byId.get(node.id) ?? []), node.type_name]);
  const usual = new Map<string, string>();
  for (const { name } of answer.columns) {
    const counts = new Map<string, number>();
    for (const row of answer.rows.slice(0, 500)) {
      const id = nodeIn(row[name]);
      for (const type of (id === null ? undefined : byId.get(id)) ?? []) counts.set(type, (counts.get(type) ?? 0) + 1);
    }
    const [most] = [...counts].sort((a, b) => b[1] - a[1]);
    if (most !== undefined) usual.set(name, most[0]);
  }
  return (column, id) => {
    const types = byId.get(id) ?? [];
    const guess = usual.get(column);
    return types.length === 1 ? types[0] : guess !== undefined && (types.length === 0 || types.includes(guess)) ? guess : types[0];
  };
}

const next = (column: string): Sorting | null => {
  const now = sorting.peek();
  if (now?.column !== column) return { column, isDown: false };
  return now.isDown ? null : { column, isDown: true };
};

const plainCell = (text: string): string => text.replaceAll(/[\t\n\r]+/g, " ");

function separated(answer: QueryAnswer, rows: readonly Row[], by: string, cell: (text: string) => string): string {
  const names = answer.columns.map((column) => column.name);
  const asText = (value: unknown): string =>
    value === null || value === undefined ? "" : typeof value === "object" ? jsonText(value).replaceAll(/\n\s*/g, " ") : String(value);
  return [names.map(cell).join(by), ...rows.map((row) => names.map((name) => cell(asText(row[name]))).join(by))].join("\n");
}
