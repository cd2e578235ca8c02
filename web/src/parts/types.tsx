/** Types have a colour each, the same in every view: by their place in the schema. */
import { address } from "../app/route";
import { schema } from "../app/session";

const COLOURS = 10;

/** 1 to 10: the number of the colour of a node type or an edge type. */
export function colourNumber(typeName: string): number {
  const nodes = schema.value?.catalog.nodes ?? [];
  const at = nodes.findIndex((node) => node.name === typeName);
  return at === -1 ? COLOURS : (at % (COLOURS - 1)) + 1;
}

export const colourVariable = (typeName: string): string => `var(--type-${colourNumber(typeName)})`;

export function Dot({ type }: { type: string }) {
  return <span class="dot" style={{ "--dot": colourVariable(type) }} aria-hidden="true" />;
}

export function TypeChip({ type }: { type: string }) {
  return (
    <span class="chip">
      <Dot type={type} />
      {type}
    </span>
  );
}

/** Where an entity is looked at, if not where we are: a branch, a commit. Null is main, and now. */
export interface Elsewhere {
  readonly branch?: string | null;
  readonly at?: string | null;
}

/** The page of an entity. */
export const entityAddress = (type: string, id: string, kind: "node" | "edge" = "node", where: Elsewhere = {}): string =>
  address({ view: "find", set: { type, id, kind: kind === "edge" ? "edge" : null, find: null, ...where } });

interface LinkProps {
  readonly type: string;
  readonly id: string;
  readonly kind?: "node" | "edge";
  readonly where?: Elsewhere;
}

export function EntityLink({ type, id, kind = "node", where = {} }: LinkProps) {
  return (
    <a href={entityAddress(type, id, kind, where)} class="entity-link" title={`${type} ${id}`}>
      {id}
    </a>
  );
}
