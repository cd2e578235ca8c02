/** How many edges of each type and direction a node has, and what is at their other ends. */
import { useState } from "preact/hooks";
import { useAsked } from "../../api/asked";
import type { EdgeCount, Neighborhood } from "../../api/types";
import { callHere, schema, standing, target } from "../../app/session";
import { Trouble, Waiting } from "../states";
import { number } from "../times";
import { Dot, EntityLink } from "../types";

const SHOWN = 20;

interface Props {
  readonly type: string;
  readonly id: string;
  readonly counts: readonly EdgeCount[];
  readonly onExpand?: (count: EdgeCount) => void;
}

/** The type at the other end. */
export function otherEnd(count: EdgeCount): string {
  const edge = schema.value?.catalog.edges.find((known) => known.name === count.edge);
  return (count.direction === "out" ? edge?.target : edge?.source) ?? "";
}

export const arrow = (count: EdgeCount): string => (count.direction === "out" ? "→" : "←");

export function Neighbours({ type, id, counts, onExpand }: Props) {
  const some = counts.filter((count) => count.count > 0);
  if (some.length === 0) return <p class="soft">Nothing is joined to it.</p>;
  return (
    <ul class="plain-list neighbours">
      {some.map((count) => (
        <Kind key={`${count.edge} ${count.direction} ${type} ${id}`} type={type} id={id} count={count} {...(onExpand === undefined ? {} : { onExpand })} />
      ))}
    </ul>
  );
}

function Kind({ type, id, count, onExpand }: Omit<Props, "counts"> & { count: EdgeCount }) {
  const [isOpen, setIsOpen] = useState(false);
  const said = `${count.edge} ${count.direction === "out" ? "to" : "from"} ${otherEnd(count)}: ${count.count}`;
  return (
    <li>
      <div class="row">
        <button type="button" class="quiet grow kind" aria-expanded={isOpen} aria-label={said} onClick={() => setIsOpen(!isOpen)}>
          <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span>
          <span>{count.edge}</span>
          <span class="soft">{arrow(count)}</span>
          <Dot type={otherEnd(count)} />
          <span class="soft">{otherEnd(count)}</span>
          <span class="stretch" />
          <strong>{number(count.count)}</strong>
        </button>
        {onExpand !== undefined && (
          <button type="button" aria-label={`Add to the graph: ${said}`} title="Add to the graph" onClick={() => onExpand(count)}>
            +
          </button>
        )}
      </div>
      {isOpen && <Ends type={type} id={id} count={count} />}
    </li>
  );
}

function Ends({ type, id, count }: { type: string; id: string; count: EdgeCount }) {
  const [limit, setLimit] = useState(SHOWN);
  const asked = useAsked<Neighborhood>(`${standing.value}|ends|${type}|${id}|${count.edge}|${count.direction}|${limit}`, (signal) =>
    callHere(
      "neighborhood",
      { type_name: type, entity_id: id, depth: 1, limit, edges: [count.edge], direction: count.direction, ...target.peek() },
      signal,
    ),
  );
  if (asked.problem !== null) return <Trouble problem={asked.problem} again={asked.again} />;
  if (asked.value === null) return <Waiting />;
  const nodes = asked.value.nodes;
  return (
    <ul class="plain-list ends">
      {nodes.map((node) => (
        <li key={`${node.type_name} ${node.id}`}>
          <EntityLink type={node.type_name} id={node.id} />
        </li>
      ))}
      {asked.value.next_page_token !== null && (
        <li>
          <button type="button" class="link small" disabled={asked.isAsking} onClick={() => setLimit(limit + 100)}>
            Show more of {number(asked.value.node_count)}
          </button>
        </li>
      )}
    </ul>
  );
}
