/** One answer in several shapes, without asking again. */
import { lazy } from "../../parts/lazy";
import { address, branch, go, moment } from "../../app/route";
import { schema } from "../../app/session";
import { EntityPanel } from "../../parts/entity/panel";
import { Icon, type IconName } from "../../parts/icons";
import { Empty, Trouble } from "../../parts/states";
import { counted, milliseconds } from "../../parts/times";
import { acting, type Acting } from "./graph/acting";
import { Json } from "./json";
import { PlanView } from "./plan";
import { samplesOf } from "./samples";
import { selected } from "./selection";
import { isMutation, isRunning, isWide, outcome, runAgain, runText, type Shape, shape } from "./state";
import { Table } from "./table";

const GraphView = lazy(() => import("./graph/view").then((module) => module.GraphView));

const SHAPES: readonly { readonly id: Shape; readonly label: string; readonly icon: IconName }[] = [
  { id: "table", label: "Table", icon: "table" },
  { id: "graph", label: "Graph", icon: "graph" },
  { id: "json", label: "JSON", icon: "json" },
  { id: "plan", label: "Plan", icon: "plan" },
];

export function Results() {
  const got = outcome.value;
  return (
    <section class="query-results" aria-label="Answer" aria-busy={isRunning.value}>
      <div class="results-head row">
        <Tabs />
        <span class="soft small told grow" role="status">
          {isRunning.value ? "Running …" : said()}
        </span>
        <button
          type="button"
          class="quiet wide-only"
          aria-pressed={isWide.value}
          title="Answer alone (w)"
          onClick={() => go({ set: { wide: isWide.value ? null : "1" } }, true)}
        >
          {isWide.value ? "Show the query" : "Widen"}
        </button>
      </div>
      <div class={isRunning.value ? "results-pane pale" : "results-pane"} id="results" role="tabpanel" aria-label={`Answer as ${shape.value}`}>
        <Pane />
        {selected.value !== null && got !== null && shape.value !== "plan" && <Side />}
      </div>
    </section>
  );
}

function said(): string {
  const got = outcome.value;
  if (got?.answer == null) return "";
  const where = moment.value === null ? branch.value : `${branch.value} at an earlier moment`;
  return `${counted(got.answer.row_count, "row")} in ${milliseconds(got.answer.ms)} · ${where}`;
}

function Tabs() {
  const move = (event: KeyboardEvent): void => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0) return;
    const at = SHAPES.findIndex((known) => known.id === shape.value);
    const next = SHAPES[(at + by + SHAPES.length) % SHAPES.length]!;
    go({ set: { as: next.id === "table" ? null : next.id } }, true);
    event.preventDefault();
    requestAnimationFrame(() => document.getElementById(`as-${next.id}`)?.focus());
  };
  return (
    <div class="tabs" role="tablist" aria-label="Shape of the answer" onKeyDown={move}>
      {SHAPES.map((known, at) => (
        <button
          key={known.id}
          id={`as-${known.id}`}
          type="button"
          role="tab"
          aria-selected={shape.value === known.id}
          aria-controls="results"
          tabIndex={shape.value === known.id ? 0 : -1}
          title={`${known.label} (${at + 1})`}
          onClick={() => go({ set: { as: known.id === "table" ? null : known.id } }, true)}
        >
          <Icon name={known.icon} size={16} />
          {known.label}
        </button>
      ))}
    </div>
  );
}

function Pane() {
  const got = outcome.value;
  if (got === null) return <Nothing />;
  if (got.problem !== null && got.answer === null) return <Trouble problem={got.problem} {...(got.problem.kind === "stale" ? {} : { again: runAgain })} />;
  if (got.change !== null) {
    const { affected_nodes: nodes, affected_edges: edges, commit, branch: on } = got.change;
    return (
      <Empty icon="review" title={commit === null ? "Nothing was there to change" : "Changed"}>
        <p>
          {counted(nodes, "node")} and {counted(edges, "edge")} on {on}.
        </p>
        {commit !== null && <a href={address({ view: "history", set: { commit: commit.graph_commit_id } })}>Look at the commit</a>}
      </Empty>
    );
  }
  if (shape.value === "plan") {
    if (got.run.stored === null) return <PlanView run={got.run} />;
    return (
      <Empty icon="plan" title="Stored queries show no plan here">
        <p>Their text lies on the server. Write the query in the editor to see how it is run.</p>
      </Empty>
    );
  }
  const answer = got.answer;
  if (answer === null) return null;
  if (shape.value === "json") return <Json answer={answer} />;
  if (answer.row_count === 0) {
    return (
      <Empty icon="table" title="No rows">
        <p>The query is right, and nothing matches it{moment.value === null ? "" : " at this moment"}. Fewer conditions find more.</p>
      </Empty>
    );
  }
  if (shape.value === "table") return <Table answer={answer} />;
  if (answer.graph === null) {
    return (
      <Empty icon="graph" title="There is no node in this answer">
        <p>
          A picture needs whole nodes. Return the variables themselves, <code>{"return { $a, $b }"}</code>, not only their properties.
        </p>
      </Empty>
    );
  }
  return <GraphView answer={answer} />;
}

function Nothing() {
  const samples = schema.value === null ? [] : samplesOf(schema.value);
  return (
    <Empty icon="query" title="Ask the graph something">
      <p>
        Write a query and press Ctrl Enter, take a stored one, or begin with a sample. Or <a href={address({ view: "find" })}>find something</a> by its name.
      </p>
      <p class="row">
        {samples.map((sample, at) => (
          <button key={sample.title} type="button" class={at === 2 ? "main" : ""} onClick={() => runText(sample.text, at === 2 ? "graph" : null)}>
            {sample.title}
          </button>
        ))}
      </p>
      {isMutation.value && <p>The query in the editor changes the graph. It asks before it does.</p>}
    </Empty>
  );
}

/** The entity that was chosen in the table or the picture. */
function Side() {
  const { type, id } = selected.value!;
  const key = `${type} ${id}`;
  const act: Acting | null = shape.value === "graph" ? acting.value : null;
  void act?.version.value;
  const isDrawn = act !== null && act.has(key);
  return (
    <aside class={shape.value === "graph" ? "side over" : "side"} aria-label="Chosen entity">
      <EntityPanel type={type} id={id} onClose={() => (selected.value = null)} {...(isDrawn ? { onExpand: (count) => act.expand(key, count) } : {})}>
        {isDrawn && (
          <>
            <button type="button" title="Show its neighbours (Enter)" onClick={() => act.expand(key, null)}>
              Expand
            </button>
            <button type="button" aria-pressed={act.isPinned(key)} title="Keep it where it is (p)" onClick={() => act.pin(key)}>
              {act.isPinned(key) ? "Unpin" : "Pin"}
            </button>
            <button type="button" title="Take it out of the picture (x)" onClick={() => act.dismiss(key)}>
              Dismiss
            </button>
          </>
        )}
      </EntityPanel>
    </aside>
  );
}

