/** Which colour is which type, how many there are, and what is written beside them. */
import type { Signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { number } from "../../../parts/times";
import { Dot } from "../../../parts/types";
import { schema } from "../../../app/session";
import { namesEdges } from "./draw";
import type { Picture } from "./picture";

export function Legend({ picture, captions }: { picture: Picture; captions: Signal<Readonly<Record<string, string>>> }) {
  const [isOpen, setIsOpen] = useState(false);
  void picture.version.value;
  const counts = new Map<string, number>();
  picture.graph.forEachNode((_, node) => counts.set(node.type, (counts.get(node.type) ?? 0) + 1));
  const types = [...counts.keys()].sort();
  const edges = new Map<string, number>();
  if (!namesEdges(picture)) picture.graph.forEachEdge((_, edge) => edges.set(edge.name, (edges.get(edge.name) ?? 0) + 1));
  if (types.length === 0) return null;
  return (
    <section class="legend" aria-label="Legend">
      <ul class="plain-list">
        {types.map((type) => {
          const known = schema.value?.catalog.nodes.find((node) => node.name === type);
          return (
            <li key={type}>
              <span class="row tight">
                <Dot type={type} />
                {type}
                <span class="soft">{number(counts.get(type) ?? 0)}</span>
              </span>
              {isOpen && known !== undefined && (
                <select
                  aria-label={`Caption of ${type}`}
                  value={captions.value[type] ?? ""}
                  onChange={(event) => {
                    const { [type]: _, ...others } = captions.value;
                    const chosen = event.currentTarget.value;
                    captions.value = chosen === "" ? others : { ...others, [type]: chosen };
                  }}
                >
                  <option value="">its key</option>
                  {known.properties
                    .filter((property) => !/^(Vector|Blob|\[)/.test(property.type))
                    .map((property) => (
                      <option key={property.name} value={property.name}>
                        {property.name}
                      </option>
                    ))}
                </select>
              )}
            </li>
          );
        })}
        {[...edges].sort().map(([name, count]) => (
          <li key={`edge ${name}`} class="row tight">
            <span class="legend-line" aria-hidden="true" />
            {name}
            <span class="soft">{number(count)}</span>
          </li>
        ))}
      </ul>
      <button type="button" class="link small" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
        {isOpen ? "Done" : "Captions"}
      </button>
    </section>
  );
}
