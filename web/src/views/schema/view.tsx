/** The types of the graph: as a diagram, as a list, as their text. */
import { useAsked } from "../../api/asked";
import { useKeys } from "../../app/keys";
import { go, place } from "../../app/route";
import { callHere, graph, schema, schemaProblem, standing, target, trouble } from "../../app/session";
import { Empty, Trouble, Waiting } from "../../parts/states";
import { Diagram } from "./diagram";
import { TypeList } from "./list";
import type { Stats } from "./shapes";
import { Source } from "./source";
import "./style.css";

const TABS = [
  { id: "diagram", label: "Diagram" },
  { id: "list", label: "List" },
  { id: "text", label: "Text" },
] as const;

/** A diagram of more types takes seconds to lay out, and says little: it is drawn when somebody asks for it. */
const MOST_DRAWN = 300;

export default function SchemaView() {
  const isHuge = (schema.value?.catalog.nodes.length ?? 0) > MOST_DRAWN;
  const shown = TABS.find((tab) => tab.id === place.value.params.as)?.id ?? (isHuge ? "list" : "diagram");
  const stats = useAsked<Stats>(`${standing.value}|stats`, (signal) => callHere<Stats>("stats", target.peek(), signal));
  const step = (by: number): void => {
    const named = place.peek().params.as ?? (isHuge ? "list" : "diagram");
    const at = Math.max(TABS.findIndex((tab) => tab.id === named), 0);
    go({ set: { as: TABS[(at + by + TABS.length) % TABS.length]!.id } }, true);
  };
  useKeys([{ keys: "v", what: "Diagram, list or text", run: () => step(1) }], [isHuge]);
  if (schema.value === null) {
    if (schemaProblem.value !== null) return <Trouble problem={schemaProblem.value} />;
    // The frame says why there is no such branch or graph.
    return trouble.value === null ? <Waiting /> : null;
  }
  const { nodes } = schema.value.catalog;
  return (
    <div class="schema">
      <header class="row schema-head">
        <h1 class="grow">Schema</h1>
        <div class="tabs" role="tablist" aria-label="How to show the schema">
          {TABS.map((tab) => (
            <button
              key={tab.id}
              type="button"
              role="tab"
              id={`schema-tab-${tab.id}`}
              aria-selected={tab.id === shown}
              aria-controls="schema-panel"
              tabIndex={tab.id === shown ? 0 : -1}
              onClick={() => go({ set: { as: tab.id } }, true)}
              onKeyDown={(event) => {
                if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
                step(event.key === "ArrowRight" ? 1 : -1);
                const list = event.currentTarget.parentElement;
                requestAnimationFrame(() => list?.querySelector<HTMLElement>('[aria-selected="true"]')?.focus());
              }}
            >
              {tab.label}
            </button>
          ))}
        </div>
      </header>
      <div id="schema-panel" class="schema-panel" role="tabpanel" aria-labelledby={`schema-tab-${shown}`}>
        {nodes.length === 0 && shown !== "text" ? (
          <Empty icon="schema" title="The schema has no types yet">
            <p>
              Write a schema and apply it: <code>omnigraph schema apply</code>
            </p>
          </Empty>
        ) : shown === "diagram" ? (
          <Diagram schema={schema.value} stats={stats.value} />
        ) : shown === "list" ? (
          <TypeList schema={schema.value} stats={stats.value} />
        ) : (
          <Source text={schema.value.text} name={graph.value ?? "schema"} />
        )}
      </div>
    </div>
  );
}
