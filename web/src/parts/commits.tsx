/** Commits as people speak of them. */
import { address } from "../app/route";
import type { Commit } from "../api/types";
import { ago, atSecond, fromText } from "./times";

const KINDS: Readonly<Record<string, string>> = {
  init: "The graph was made",
  mutation: "A change",
  load: "A load",
  embed: "Vectors were made",
  merge: "A merge",
  revert: "A revert",
  optimize: "Files were compacted",
  index: "Indexes were built",
  schema: "Another schema",
  recovery: "Something broken off was finished",
};

export const commitTitle = (commit: Commit): string => commit.message?.split("\n")[0] || (KINDS[commit.kind] ?? commit.kind);
export const shortId = (id: string): string => `…${id.slice(-8)}`;
export const commitAddress = (id: string): string => address({ view: "history", set: { commit: id } });

export function When({ commit }: { commit: Commit }) {
  const time = fromText(commit.created_at);
  return (
    <time dateTime={commit.created_at} title={atSecond(time)}>
      {ago(time)}
    </time>
  );
}

export const Who = ({ commit }: { commit: Commit }) => <>{commit.actor_id ?? "somebody"}</>;
