/** Queries to begin with, made of the schema that is there. */
import type { EdgeType, Schema } from "../../api/types";

export interface Sample {
  readonly title: string;
  readonly text: string;
}

const walked = (edge: string): string => edge.charAt(0).toLowerCase() + edge.slice(1);
const worded = (name: string): string => name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();

/** The edge that a picture is best made of: the first between two nodes of different types, or the first at all. */
const firstEdge = (edges: readonly EdgeType[]): EdgeType | null => edges.find((edge) => edge.source === edge.target) ?? edges[0] ?? null;

export function samplesOf(schema: Schema): Sample[] {
  const { nodes, edges } = schema.catalog;
  const samples: Sample[] = [];
  const edge = firstEdge(edges);
  const type = nodes.find((node) => node.name === edge?.source) ?? nodes[0];
  if (type !== undefined) {
    samples.push({
      title: `Some of type ${type.name}`,
      text: `query some() {\n    match { $a: ${type.name} }\n    return { $a }\n    limit 25\n}\n`,
    });
    samples.push({
      title: `How many of type ${type.name}`,
      text: `query how_many() {\n    match { $a: ${type.name} }\n    return { count($a) as n }\n}\n`,
    });
  }
  if (edge !== null) {
    samples.push({
      title: `${edge.source} ${worded(edge.name)} ${edge.target}`,
      text: `query pairs() {\n    match {\n        $a: ${edge.source}\n        $a ${walked(edge.name)} $b\n    }\n    return { $a, $b }\n    limit 50\n}\n`,
    });
  }
  return samples;
}

export function sampleText(schema: Schema): string {
  const samples = samplesOf(schema);
  return (samples[2] ?? samples[0])?.text ?? "";
}
