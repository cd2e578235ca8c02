/** Indexes: which are built, what they answer for, and how large the tables are. */
import { useAsked } from "../../api/asked";
import { go, place } from "../../app/route";
import { callHere, standing, target } from "../../app/session";
import { Empty, Trouble, Waiting } from "../../parts/states";
import { bytes, counted, number } from "../../parts/times";
import { Dot } from "../../parts/types";
import type { Stats } from "../schema/shapes";
import "./style.css";

interface IndexInfo {
  readonly table: string;
  readonly column: string;
  readonly kind: string;
  readonly declared: boolean;
  readonly built: boolean;
  readonly rows: number;
  readonly rows_indexed: number;
  readonly pending: string | null;
}

const ANSWERS: Readonly<Record<string, string>> = {
  btree: "equal to, less and greater than",
  bitmap: "equal to, of few different values",
  inverted: "words of a text: search, bm25",
  fts: "words of a text: search, bm25",
  ngram: "parts of a text: contains",
  ivf_pq: "nearest vectors",
  ivf_hnsw_sq: "nearest vectors",
  ivf_flat: "nearest vectors",
  hnsw: "nearest vectors",
};

const COLUMNS: Readonly<Record<string, string>> = {
  id: "an entity by its key",
  src: "edges from a node",
  dst: "edges to a node",
};

const answersFor = (index: IndexInfo): string =>
  COLUMNS[index.column] ?? ANSWERS[index.kind.toLowerCase()] ?? index.kind;

const typeOf = (table: string): string => table.slice(table.indexOf(":") + 1);

interface State {
  readonly tone: string;
  readonly text: string;
}

function stateOf(index: IndexInfo): State {
  if (!index.built) return { tone: "warn", text: "not built" };
  if (index.rows_indexed < index.rows) return { tone: "warn", text: "behind" };
  return { tone: "good", text: "up to date" };
}

export default function IndexesView() {
  const indexes = useAsked<readonly IndexInfo[]>(`${standing.value}|indexes`, (signal) =>
    callHere<readonly IndexInfo[]>("indexes", target.peek(), signal),
  );
  const stats = useAsked<Stats>(`${standing.value}|stats`, (signal) => callHere<Stats>("stats", target.peek(), signal));
  const isOpenOnly = place.value.params.only === "open";
  const problem = indexes.problem ?? stats.problem;
  const all = indexes.value ?? [];
  const open = all.filter((index) => stateOf(index).tone !== "good");
  const shown = isOpenOnly ? open : all;
  const behind = all.filter((index) => index.built && index.rows_indexed < index.rows).length;
  return (
    <div class="pad indexes">
      <h1>Indexes and tables</h1>
      {problem !== null && <Trouble problem={problem} again={indexes.problem === null ? stats.again : indexes.again} />}
      {indexes.value === null && indexes.problem === null && <Waiting />}
      {indexes.value !== null && all.length === 0 && (
        <Empty icon="indexes" title="There are no indexes yet">
          <p>Keys and edges get theirs when the first rows come; others are declared in the schema with @index.</p>
        </Empty>
      )}
      {all.length > 0 && (
        <section class="card" aria-labelledby="indexes-list">
          <header class="row">
            <h2 id="indexes-list" class="grow">
              {counted(all.length, "index", "indexes")}
            </h2>
            <label class="row tight">
              <input
                type="checkbox"
                checked={isOpenOnly}
                onChange={(event) => go({ set: { only: event.currentTarget.checked ? "open" : null } }, true)}
              />
              only what is not up to date
            </label>
          </header>
          <p class="soft">
            {open.length === 0
              ? "All are up to date."
              : `${number(open.length - behind)} not built, ${number(behind)} behind. Answers are right all the same: rows that an index lacks are read one by one. `}
            {open.length > 0 && (
              <>
                To bring them up to date: <code>omnigraph optimize</code>
              </>
            )}
          </p>
          <div class="indexes-scroll" tabIndex={0} role="region" aria-label="Indexes">
            <table class="plain">
              <thead>
                <tr>
                  <th scope="col">Of</th>
                  <th scope="col">State</th>
                  <th scope="col">Answers for</th>
                  <th scope="col" class="number">
                    Rows in it
                  </th>
                  <th scope="col">Why not all</th>
                </tr>
              </thead>
              <tbody>
                {shown.map((index) => {
                  const state = stateOf(index);
                  return (
                    <tr key={`${index.table} ${index.column} ${index.kind}`}>
                      <th scope="row" class="indexes-of">
                        <Dot type={typeOf(index.table)} /> {typeOf(index.table)}.{index.column}{" "}
                        <span class="soft small">{index.kind}</span>
                      </th>
                      <td>
                        <span class={`chip ${state.tone}`}>{state.text}</span>
                      </td>
                      <td>{answersFor(index)}</td>
                      <td class="number">
                        {number(index.rows_indexed)} <span class="soft">of {number(index.rows)}</span>
                      </td>
                      <td class="soft">{index.pending ?? ""}</td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </div>
          {shown.length === 0 && <p class="soft">None: all are up to date.</p>}
        </section>
      )}
      {stats.value !== null && <Tables stats={stats.value} />}
    </div>
  );
}

function Tables({ stats }: { stats: Stats }) {
  const tables = Object.entries(stats.tables);
  const size = tables.reduce((sum, [, table]) => sum + table.bytes, 0);
  const rows = tables.reduce((sum, [, table]) => sum + table.row_count, 0);
  const largest = Math.max(1, ...tables.map(([, table]) => table.bytes));
  return (
    <section class="card" aria-labelledby="indexes-tables">
      <h2 id="indexes-tables">{counted(tables.length, "table")}</h2>
      <p class="soft">
        {counted(rows, "row")} in {bytes(size)}.
      </p>
      <div class="indexes-scroll" tabIndex={0} role="region" aria-label="Tables">
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Type</th>
              <th scope="col" class="number">
                Rows
              </th>
              <th scope="col" class="number">
                Size
              </th>
              <th scope="col" class="number">
                Files
              </th>
              <th scope="col" class="number">
                Deleted rows in them
              </th>
            </tr>
          </thead>
          <tbody>
            {tables.map(([name, table]) => (
              <tr key={name}>
                <th scope="row" class="indexes-of">
                  <Dot type={typeOf(name)} /> {typeOf(name)} <span class="soft small">{name.slice(0, 4)}</span>
                </th>
                <td class="number">{number(table.row_count)}</td>
                <td class="number indexes-size" style={{ "--part": `${(100 * table.bytes) / largest}%` }}>
                  {bytes(table.bytes)}
                </td>
                <td class="number">{number(table.fragments)}</td>
                <td class="number">{number(table.deleted_rows)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
