/** Which commits a branch has that another has not. */
import type { Commit } from "../api/types";

export interface Log {
  /** Newest first, each before its parents. */
  readonly commits: readonly Commit[];
  readonly heads: Readonly<Record<string, string>>;
}

/** Whether somebody made it: others keep files in order. */
export const isOfPeople = ({ kind }: Commit): boolean => kind !== "index" && kind !== "optimize";

export type Known = ReadonlyMap<string, Commit>;

export const byId = (log: Log): Known => new Map(log.commits.map((commit) => [commit.graph_commit_id, commit]));

/** All that these heads descend from, themselves too, as far as the log reaches. */
export function ancestors(known: Known, heads: readonly string[]): Set<string> {
  const found = new Set<string>();
  const open = [...heads];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (found.has(id)) continue;
    found.add(id);
    const commit = known.get(id);
    if (commit?.parent_commit_id) open.push(commit.parent_commit_id);
    if (commit?.merged_parent_commit_id) open.push(commit.merged_parent_commit_id);
  }
  return found;
}

/** The commits of one branch that none of the others has. */
export function ownCommits(log: Log, known: Known, branch: string, others: readonly string[]): readonly Commit[] {
  const head = log.heads[branch];
  if (head === undefined) return [];
  const elsewhere = ancestors(known, others.flatMap((name) => log.heads[name] ?? []));
  const mine = ancestors(known, [head]);
  return log.commits.filter(({ graph_commit_id: id }) => mine.has(id) && !elsewhere.has(id));
}
