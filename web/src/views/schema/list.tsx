/** The schema in words: everything that the diagram shows, and more. */
import type { EdgeType, NodeType, Property, Schema } from "../../api/types";
import { shown } from "../../api/values";
import { counted } from "../../parts/times";
import { Dot } from "../../parts/types";
import { AskLink } from "./ask";
import { cardinality, keyFirst, queryOfEdge, queryOfNode, type Stats, typeText } from "./shapes";

const described = (annotations: Readonly<Record<string, unknown>>): string | null => {
  const found = annotations.description;
  return found === undefined || found === null ? null : shown(Array.isArray(found) ? found[0] : found);
};

export function TypeList({ schema, stats }: { schema: Schema; stats: Stats | null }) {
  const { nodes, edges } = schema.catalog;
  return (
    <div class="schema-list">
      <section aria-labelledby="schema-nodes">
        <h2 id="schema-nodes">{counted(nodes.length, "node type")}</h2>
        {nodes.map((type) => (
          <NodeCard key={type.name} type={type} edges={edges} count={stats?.tables[`node:${type.name}`]?.row_count} />
        ))}
      </section>
      <section aria-labelledby="schema-edges">
        <h2 id="schema-edges">{counted(edges.length, "edge type")}</h2>
        {edges.map((edge) => (
          <EdgeCard key={edge.name} edge={edge} count={stats?.tables[`edge:${edge.name}`]?.row_count} />
        ))}
      </section>
    </div>
  );
}

function NodeCard({ type, edges, count }: { type: NodeType; edges: readonly EdgeType[]; count: number | undefined }) {
  const out = edges.filter((edge) => edge.source === type.name).map((edge) => `${edge.name} → ${edge.target}`);
  const into = edges.filter((edge) => edge.target === type.name).map((edge) => `${edge.source} → ${edge.name}`);
  const text = described(type.annotations);
  return (
    <article class="card" aria-label={type.name}>
      <header class="row">
        <Dot type={type.name} />
        <h3 class="grow">{type.name}</h3>
        {count !== undefined && <span class="soft">{counted(count, "entity", "entities")}</span>}
        <AskLink class="button" text={queryOfNode(type)} label={`Show some of type ${type.name}`}>
          Show some
        </AskLink>
      </header>
      {text !== null && <p class="soft">{text}</p>}
      {type.interfaces.length > 0 && <p class="soft">It is a {type.interfaces.join(", ")}.</p>}
      <Properties properties={keyFirst(type)} keys={type.key} />
      {out.length > 0 && <p class="small soft">Out: {out.join(", ")}</p>}
      {into.length > 0 && <p class="small soft">In: {into.join(", ")}</p>}
    </article>
  );
}

function EdgeCard({ edge, count }: { edge: EdgeType; count: number | undefined }) {
  const bounds = cardinality(edge);
  const text = described(edge.annotations);
  return (
    <article class="card" aria-label={edge.name}>
      <header class="row">
        <h3 class="grow">
          {edge.name}{" "}
          <span class="schema-ends">
            <Dot type={edge.source} /> {edge.source} → <Dot type={edge.target} /> {edge.target}
          </span>
        </h3>
        {count !== undefined && <span class="soft">{counted(count, "edge")}</span>}
        <AskLink class="button" text={queryOfEdge(edge)} label={`Show some edges of type ${edge.name}`}>
          Show some
        </AskLink>
      </header>
      {text !== null && <p class="soft">{text}</p>}
      {bounds !== null && (
        <p class="soft">
          One {edge.source} has {bounds} of them.
        </p>
      )}
      <Properties properties={keyFirst(edge)} keys={edge.key} />
    </article>
  );
}

function Properties({ properties, keys }: { properties: readonly Property[]; keys: readonly string[] }) {
  if (properties.length === 0) return null;
  return (
    <table class="plain schema-table">
      <tbody>
        {properties.map((property) => (
          <tr key={property.name}>
            <th scope="row">
              <code>{property.name}</code> {keys.includes(property.name) && <span class="schema-key">key</span>}
            </th>
            <td>
              <code>{typeText(property)}</code>
              {property.default !== null && <span class="soft"> if left out: {shown(property.default)}</span>}
              {described(property.annotations) !== null && <p class="small soft">{described(property.annotations)}</p>}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
