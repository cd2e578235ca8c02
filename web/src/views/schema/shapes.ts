import type { EdgeType, NodeType, Property } from "../../api/types";

export interface TableStats {
  readonly row_count: number;
  readonly fragments: number;
  readonly deleted_rows: number;
  readonly bytes: number;
}

export interface Stats {
  readonly commit: string;
  /** By "node:Person", "edge:Knows". */
  readonly tables: Readonly<Record<string, TableStats>>;
}

type Bounded = EdgeType & { readonly cardinality?: { readonly least: number; readonly most: number | null } };

/** "0..1", "1..*": how many edges of a type one source may have; null where any number is. */
export function cardinality(edge: EdgeType): string | null {
  const bounds = (edge as Bounded).cardinality;
  if (bounds === undefined || (bounds.least === 0 && bounds.most === null)) return null;
  return `${bounds.least}..${bounds.most ?? "*"}`;
}

/** A type as the schema writes it. Vectors, enums and lists come as objects. */
export function typeText(property: Property): string {
  const type: unknown = property.type;
  return `${wrapped(type)}${property.is_nullable ? "?" : ""}`;
}

function wrapped(type: unknown): string {
  if (typeof type !== "object" || type === null) return String(type);
  const { width, values, item } = type as { width?: number; values?: readonly string[]; item?: unknown };
  if (width !== undefined) return `Vector(${width})`;
  if (values !== undefined) return `enum(${values.join(", ")})`;
  return `[${wrapped(item)}]`;
}

/** The properties of a type, those of its key first, in the order of the key. */
export const keyFirst = (type: Pick<NodeType, "properties" | "key">): readonly Property[] => [
  ...type.key.flatMap((name) => type.properties.filter((property) => property.name === name)),
  ...type.properties.filter((property) => !type.key.includes(property.name)),
];

const walked = (edge: string): string => edge.charAt(0).toLowerCase() + edge.slice(1);

/** A query of some entities of a type. */
export const queryOfNode = (type: NodeType): string =>
  `query some() {\n    match { $a: ${type.name} }\n    return { $a }\n    limit 50\n}\n`;

export const queryOfEdge = (edge: EdgeType): string =>
  `query some() {\n    match {\n        $a: ${edge.source}\n        $a ${walked(edge.name)} $b\n    }\n    return { $a, $b }\n    limit 50\n}\n`;
