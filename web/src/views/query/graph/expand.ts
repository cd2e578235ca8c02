/** Brings what is around a node into a picture. */
import type { Neighborhood, QueryAnswer } from "../../../api/types";
import { callHere, schema, target } from "../../../app/session";
import { tell } from "../../../app/toasts";
import { number } from "../../../parts/times";
import { keyOf, type NewEdge, type Picture } from "./picture";

export interface Kind {
  readonly edge: string;
  readonly direction: "out" | "in";
}

/** The most nodes that one question brings. */
const MOST_ASKED = 1_000;

/** Adds neighbours of one kind, or of all kinds, and says which nodes are new. */
export async function expand(picture: Picture, key: string, kind: Kind | null, limit: number): Promise<string[]> {
  if (!picture.graph.hasNode(key)) return [];
  const { type, id, label } = picture.graph.getNodeAttributes(key);
  // They come in one order: with those that are shown already, the next ones come too.
  const asked = Math.min(limit + picture.graph.neighbors(key).length, MOST_ASKED);
  const answer = await callHere<Neighborhood>("neighborhood", {
    type_name: type,
    entity_id: id,
    depth: 1,
    limit: asked,
    ...(kind === null ? {} : { edges: [kind.edge], direction: kind.direction }),
    ...target.peek(),
  });
  if (!answer.ok) {
    tell(answer.problem.sentence, "bad");
    return [];
  }
  if (!picture.graph.hasNode(key)) return [];
  const ends = new Map(schema.peek()?.catalog.edges.map((edge) => [edge.name, edge]));
  const nodes = answer.value.nodes
    .filter((node) => !picture.graph.hasNode(keyOf(node.type_name, node.id)))
    .slice(0, limit)
    .map((node) => ({ type: node.type_name, id: node.id, label: node.label, properties: node.properties }));
  const edges = answer.value.edges.flatMap((edge): NewEdge[] => {
    const known = ends.get(edge.type_name);
    if (known === undefined) return [];
    return [{ from: keyOf(known.source, edge.from_), to: keyOf(known.target, edge.to), name: edge.type_name, isDirected: true }];
  });
  const fresh = picture.add(key, nodes, edges);
  if (fresh.length > 0) await joinAmong(picture);
  const all = answer.value.node_count;
  const isShown = (node: { type_name: string; id: string }): boolean => picture.graph.hasNode(keyOf(node.type_name, node.id));
  const shown = answer.value.nodes.filter(isShown).length;
  if (shown < all) tell(`${number(shown)} of ${number(all)} neighbours of ${label} are shown. Expand it again for more.`);
  else if (fresh.length === 0) tell(all === 0 ? `${label} has no neighbours.` : `All neighbours of ${label} are shown.`);
  return fresh;
}

/** A picture of more nodes is not asked about: it is dense enough. */
const MOST_AMONG = 2_000;
const MOST_EDGES = 5_000;

/** Adds the edges among what is shown, which no expansion brought: a question for each type of edge. */
async function joinAmong(picture: Picture): Promise<void> {
  if (picture.graph.order > MOST_AMONG) return;
  const shown = new Map<string, string[]>();
  picture.graph.forEachNode((_, node) => shown.set(node.type, [...(shown.get(node.type) ?? []), node.id]));
  const edges = schema.peek()?.catalog.edges.filter((edge) => shown.has(edge.source) && shown.has(edge.target)) ?? [];
  const answers = await Promise.all(
    edges.map(async (edge) => {
      const walked = edge.name.charAt(0).toLowerCase() + edge.name.slice(1);
      const text = `query among($f: [String], $t: [String]) {
        match { $a: ${edge.source}  $b: ${edge.target}  $a ${walked} $b  id($a) in $f  id($b) in $t }
        return { id($a) as f, id($b) as t } limit ${MOST_EDGES} }`;
      const answer = await callHere<QueryAnswer>("answer", {
        source: { text, name: "<edges>" },
        params: { f: shown.get(edge.source), t: shown.get(edge.target) },
        limit_rows: MOST_EDGES,
        ...target.peek(),
      });
      return answer.ok ? answer.value.rows.map((row) => ({ edge, row })) : [];
    }),
  );
  picture.addEdges(
    answers.flat().map(({ edge, row }) => ({
      from: keyOf(edge.source, String(row.f)),
      to: keyOf(edge.target, String(row.t)),
      name: edge.name,
      isDirected: true,
    })),
  );
}
