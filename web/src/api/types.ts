/** What the server says, as far as the page reads it. Times are texts in ISO 8601. */
import type { Value } from "./values";

export interface Commit {
  readonly graph_commit_id: string;
  readonly graph_branch: string | null;
  readonly graph_manifest_version: number;
  readonly parent_commit_id: string | null;
  readonly merged_parent_commit_id: string | null;
  readonly actor_id: string | null;
  readonly created_at: string;
  readonly kind: string;
  readonly message: string | null;
  readonly load_id: string | null;
}

export interface Me {
  readonly version: string;
  readonly state: "open" | "personal" | "default_deny" | "policy";
  readonly actor_id: string | null;
  readonly graphs: readonly string[] | null;
}

/** What the actor may do, branch by branch. */
export interface MyRights {
  readonly graph_id: string;
  readonly version: string;
  readonly state: Me["state"];
  readonly actor_id: string | null;
  readonly is_read_only: boolean;
  readonly branches: readonly BranchRights[];
}

export interface BranchRights {
  readonly name: string;
  readonly actions: readonly string[];
  readonly merges_into: readonly string[];
  /** Rules about rows decide: a review tells. */
  readonly merges_some_into: readonly string[];
}

export interface Property {
  readonly name: string;
  readonly type: string;
  readonly is_nullable: boolean;
  readonly default: Value;
  readonly embed: Value;
  readonly annotations: Readonly<Record<string, Value>>;
}

export interface NodeType {
  readonly name: string;
  readonly properties: readonly Property[];
  readonly key: readonly string[];
  readonly interfaces: readonly string[];
  readonly annotations: Readonly<Record<string, Value>>;
}

export interface EdgeType extends Omit<NodeType, "interfaces"> {
  readonly source: string;
  readonly target: string;
}

export interface Schema {
  readonly text: string;
  readonly graph_commit_id: string;
  readonly catalog: { readonly nodes: readonly NodeType[]; readonly edges: readonly EdgeType[]; readonly interfaces: readonly unknown[] };
}

export type Properties = Readonly<Record<string, Value>>;

export interface GraphNode {
  readonly type_name: string;
  readonly id: string;
  readonly label: string;
  readonly properties: Properties;
}

export interface GraphEdge {
  /** Places in the list of nodes. */
  readonly source: number;
  readonly target: number;
  readonly label: string;
  readonly is_directed: boolean;
  readonly is_path: boolean;
  readonly properties: Properties;
}

/** Rows of a query, and the nodes and edges among them. */
export interface QueryAnswer {
  readonly query_name: string;
  readonly graph_commit_id: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly rows: readonly Properties[];
  readonly row_count: number;
  readonly ms: number;
  readonly graph: null | {
    readonly nodes: readonly GraphNode[];
    readonly edges: readonly GraphEdge[];
    readonly node_count: number;
    readonly has_more_edges: boolean;
  };
}

export interface Finding {
  readonly code: string;
  readonly severity: "error" | "warning";
  readonly message: string;
  readonly hint: string | null;
  /** Code points, not UTF-16 units. */
  readonly start: number;
  readonly end: number;
  readonly line: number;
  readonly column: number;
}

export interface KnownParameter {
  readonly name: string;
  readonly type: string;
  readonly is_nullable: boolean;
}

export interface KnownQuery {
  readonly name: string;
  readonly is_mutation: boolean;
  readonly has_errors: boolean;
  readonly start: number;
  readonly parameters: readonly KnownParameter[];
}

export interface Lint {
  readonly findings: readonly Finding[];
  readonly queries: readonly KnownQuery[];
}

export interface Completion {
  readonly start: number;
  readonly candidates: readonly { readonly text: string; readonly about: string | null }[];
}

export interface StoredQuery {
  readonly name: string;
  readonly mutation: boolean;
  readonly params: readonly {
    readonly name: string;
    readonly kind: string;
    readonly nullable: boolean;
    readonly item_kind: string | null;
    readonly vector_dim: number | null;
  }[];
  readonly description: string | null;
}

export interface PlanStep {
  readonly depth: number;
  readonly operator: string;
  readonly text: string;
  readonly rows_expected: number | null;
  readonly rows: number | null;
  readonly bytes: number | null;
  readonly ms: number | null;
  readonly notes: readonly string[];
}

export interface Plan {
  readonly query_name: string;
  readonly graph_commit_id: string;
  readonly is_analyzed: boolean;
  readonly steps: readonly PlanStep[];
}

export interface MutationAnswer {
  readonly query_name: string;
  readonly branch: string;
  readonly affected_nodes: number;
  readonly affected_edges: number;
  readonly commit: Commit | null;
}

export interface Hit {
  readonly type_name: string;
  readonly id: string;
  readonly label: string;
  readonly how: "key" | "prefix" | "substring" | "words" | "text";
  readonly property: string;
  readonly excerpt: string;
}

export interface Found {
  readonly graph_commit_id: string;
  readonly text: string;
  readonly hits: readonly Hit[];
  readonly has_more: boolean;
}

export interface EdgeCount {
  readonly edge: string;
  readonly direction: "out" | "in";
  readonly count: number;
}

export interface Entity {
  readonly graph_commit_id: string;
  readonly kind: "node" | "edge";
  readonly type_name: string;
  readonly id: string;
  readonly label: string;
  readonly properties: Properties;
  readonly blobs: readonly { readonly property: string; readonly size: number }[];
  readonly from_: null | { readonly type_name: string; readonly id: string };
  readonly to: null | { readonly type_name: string; readonly id: string };
  readonly counts: readonly EdgeCount[];
}

export interface PropertyChange {
  readonly property: string;
  readonly before: Value;
  readonly after: Value;
}

export interface EntityHistory {
  readonly entries: readonly {
    readonly commit: Commit;
    readonly op: "insert" | "update" | "delete";
    readonly changes: readonly PropertyChange[];
  }[];
  readonly next_page_token: string | null;
  /** Why nothing earlier can be told. */
  readonly ends: null | "gone" | "hidden";
}

export interface Neighborhood {
  readonly graph_commit_id: string;
  readonly entity: NearNode;
  readonly counts: readonly EdgeCount[];
  readonly nodes: readonly NearNode[];
  readonly edges: readonly {
    readonly type_name: string;
    readonly id: string;
    readonly from_: string;
    readonly to: string;
    readonly properties: Properties;
  }[];
  readonly node_count: number;
  readonly has_more_edges: boolean;
  readonly next_page_token: string | null;
}

export interface NearNode {
  readonly type_name: string;
  readonly id: string;
  readonly label: string;
  readonly distance: number;
  readonly properties: Properties;
}
