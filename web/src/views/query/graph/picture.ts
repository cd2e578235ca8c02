/** What a picture shows: nodes and edges of an answer, and what was added, taken away and pinned since. */
import { signal } from "@preact/signals";
import { MultiDirectedGraph } from "graphology";
import type { Properties, QueryAnswer } from "../../../api/types";

/** So many nodes are drawn unless somebody wants all: more is a cloud, and slow without a graphics card. */
export const DRAWN_AT_FIRST = 1_000;

export interface DrawnNode {
  readonly type: string;
  readonly id: string;
  label: string;
  readonly properties: Properties;
  x: number;
  y: number;
  /** Fixed nodes stay where they are while others are laid out. */
  fixed: boolean;
  isPinned: boolean;
}

export interface DrawnEdge {
  readonly name: string;
  readonly isDirected: boolean;
}

export type NewNode = Pick<DrawnNode, "type" | "id" | "label" | "properties">;

export interface NewEdge extends DrawnEdge {
  readonly from: string;
  readonly to: string;
}

export const keyOf = (type: string, id: string): string => `${type} ${id}`;

/** A number from 0 to 1 that is always the same for a text: positions are the same at every visit. */
export function seeded(text: string): number {
  let hash = 2166136261;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 16777619);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 2246822519);
  return ((hash ^ (hash >>> 13)) >>> 0) / 4294967296;
}

export class Picture {
  readonly graph = new MultiDirectedGraph<DrawnNode, DrawnEdge>();
  /** Counts up with every change, for those that show it. */
  readonly version = signal(0);
  private readonly undoing: (() => void)[] = [];

  constructor(
    answer: NonNullable<QueryAnswer["graph"]>,
    readonly most: number,
    before: Picture | null,
  ) {
    const nodes = answer.nodes.slice(0, most);
    const keys = nodes.map((node) => keyOf(node.type_name, node.id));
    for (const [at, node] of nodes.entries()) {
      const key = keys[at]!;
      // What was drawn before, of another moment say, stays where it was.
      const old = before?.graph.hasNode(key) ? before.graph.getNodeAttributes(key) : null;
      const angle = 2 * Math.PI * seeded(key);
      const distance = 100 * Math.sqrt(seeded(`${key}#`));
      this.graph.mergeNode(key, {
        type: node.type_name,
        id: node.id,
        label: node.label,
        properties: node.properties,
        x: old?.x ?? distance * Math.cos(angle),
        y: old?.y ?? distance * Math.sin(angle),
        fixed: old?.isPinned ?? false,
        isPinned: old?.isPinned ?? false,
      });
    }
    for (const edge of answer.edges) {
      const [from, to] = [keys[edge.source], keys[edge.target]];
      if (from !== undefined && to !== undefined) this.join({ from, to, name: edge.label, isDirected: edge.is_directed });
    }
  }

  /** Adds an edge, once: parallel edges of one type are drawn as one. */
  private join(edge: NewEdge): string | null {
    const key = `${edge.from}|${edge.name}|${edge.to}`;
    if (this.graph.hasEdge(key)) return null;
    this.graph.addEdgeWithKey(key, edge.from, edge.to, { name: edge.name, isDirected: edge.isDirected });
    return key;
  }

  /** Adds what is around a node, close to it, and says which nodes are new. */
  add(around: string, nodes: readonly NewNode[], edges: readonly NewEdge[]): string[] {
    const fresh = nodes.filter((node) => !this.graph.hasNode(keyOf(node.type, node.id)));
    const centre = this.graph.getNodeAttributes(around);
    const reach = 12 + 2 * Math.sqrt(fresh.length);
    const keys = fresh.map((node, at) => {
      const key = keyOf(node.type, node.id);
      const angle = (2 * Math.PI * (at + seeded(around))) / fresh.length;
      const [x, y] = [centre.x + reach * Math.cos(angle), centre.y + reach * Math.sin(angle)];
      this.graph.addNode(key, { ...node, x, y, fixed: false, isPinned: false });
      return key;
    });
    const joined = edges.filter((edge) => this.graph.hasNode(edge.from) && this.graph.hasNode(edge.to)).map((edge) => this.join(edge));
    this.did(() => {
      for (const edge of joined) if (edge !== null && this.graph.hasEdge(edge)) this.graph.dropEdge(edge);
      for (const key of keys) if (this.graph.hasNode(key)) this.graph.dropNode(key);
    }, keys.length > 0 || joined.some((edge) => edge !== null));
    return keys;
  }

  /** Adds edges among what is shown; a part of the step before it. */
  addEdges(edges: readonly NewEdge[]): void {
    const joined = edges.filter((edge) => this.graph.hasNode(edge.from) && this.graph.hasNode(edge.to)).map((edge) => this.join(edge));
    const before = this.undoing.pop();
    this.did(() => {
      for (const edge of joined) if (edge !== null && this.graph.hasEdge(edge)) this.graph.dropEdge(edge);
      before?.();
    });
  }

  dismiss(key: string): void {
    const attributes = { ...this.graph.getNodeAttributes(key) };
    const edges = this.graph.mapEdges(key, (name, edge, from, to) => ({ name, edge, from, to }));
    this.graph.dropNode(key);
    this.did(() => {
      if (!this.graph.hasNode(key)) this.graph.addNode(key, attributes);
      for (const { name, edge, from, to } of edges) {
        if (this.graph.hasNode(from) && this.graph.hasNode(to) && !this.graph.hasEdge(name)) this.graph.addEdgeWithKey(name, from, to, edge);
      }
    });
  }

  pin(key: string, isPinned: boolean): void {
    const set = (value: boolean): void => {
      if (this.graph.hasNode(key)) this.graph.mergeNodeAttributes(key, { isPinned: value, fixed: value });
    };
    set(isPinned);
    this.did(() => set(!isPinned));
  }

  get canUndo(): boolean {
    return this.undoing.length > 0;
  }

  undo(): void {
    this.undoing.pop()?.();
    this.version.value += 1;
  }

  private did(back: () => void, isReal = true): void {
    if (isReal) this.undoing.push(back);
    this.version.value += 1;
  }
}
