/** What every view stands on: who asks, the graph, its branches, the commits and the schema of the branch. */
import { computed, effect, signal, untracked } from "@preact/signals";
import { ask, call } from "../api/ask";
import { epoch, isReady, token } from "../api/link";
import type { Answer, Problem } from "../api/problem";
import type { Commit, Me, MyRights, Schema } from "../api/types";
import { branch, go, moment, place } from "./route";

export const me = signal<Me | null>(null);
export const rights = signal<MyRights | null>(null);
export const branches = signal<readonly string[]>(["main"]);
/** Of the branch, newest first. */
export const commits = signal<readonly Commit[]>([]);
/** Of the branch and the moment. */
export const schema = signal<Schema | null>(null);
/** Why there is none. */
export const schemaProblem = signal<Problem | null>(null);
export const trouble = signal<Problem | null>(null);

export const graph = computed(() => place.value.graph);
/** How many commits the slider reaches back. */
export const REACH = 500;

/** The start of the routes of the graph. */
export const here = (): string => `/graphs/${encodeURIComponent(graph.peek() ?? "")}`;

/** A call about the graph that is looked at. */
export const callHere = <T>(name: string, body: unknown, signal?: AbortSignal): Promise<Answer<T>> =>
  call<T>(graph.peek() ?? "", name, body, signal);

/** Which rows a reading is of: the newest of the branch, or those of a commit. A part of the body of a call. */
export const target = computed<{ branch: string } | { moment: string }>(() =>
  moment.value === null ? { branch: branch.value } : { moment: moment.value },
);

/** The newest commit of the branch. A write moves it, and what is shown is asked for anew. */
export const head = computed(() => commits.value[0]?.graph_commit_id ?? "");

/** Names graph, branch and moment: the beginning of every key of `useAsked`. */
export const standing = computed(() => `${graph.value}|${branch.value}|${moment.value ?? head.value}`);

export const momentCommit = computed(
  () => commits.value.find((commit) => commit.graph_commit_id === moment.value) ?? null,
);

/** Whether we may do something on the branch, as far as we know: the server has the last word. */
export const may = (action: string, on = branch.value): boolean =>
  rights.value?.branches.find((known) => known.name === on)?.actions.includes(action) ?? true;

async function whoAmI(): Promise<void> {
  const answer = await ask<Me>("/me");
  if (!answer.ok) {
    if (place.peek().graph === null) trouble.value = answer.problem;
    return;
  }
  me.value = answer.value;
  if (place.peek().graph !== null) return;
  trouble.value = null;
  const first = answer.value.graphs?.[0];
  if (first !== undefined) go({ graph: first, view: "query" }, true);
}

let asked = 0;

/** Reads branches and commits; also to be called after a write. */
export async function look(): Promise<void> {
  if (graph.peek() === null) return;
  const mine = ++asked;
  const [names, line, mine_] = await Promise.all([
    callHere<string[]>("branches", {}),
    callHere<Commit[]>("commits", { branch: branch.peek(), limit: REACH }),
    ask<MyRights>(`${here()}/me`),
  ]);
  if (mine !== asked) return;
  if (names.ok) branches.value = names.value;
  if (line.ok) commits.value = line.value;
  else if (line.problem.kind === "absent" || line.problem.kind === "denied") {
    // What is known is of the branch before.
    commits.value = [];
    if (moment.peek() === null) schema.value = null;
  }
  if (mine_.ok) rights.value = mine_.value;
  trouble.value = !names.ok ? names.problem : !line.ok ? line.problem : null;
  isReady.value = true;
}

/** Resolves once the head of the branch is known: what is asked before that would be asked again. */
export const whenReady = (): Promise<void> =>
  new Promise((resolve) => {
    const stop = isReady.subscribe((is) => {
      if (!is) return;
      resolve();
      // Not here: at the first call there is no `stop` yet.
      queueMicrotask(() => stop());
    });
  });

/** What `schema` was asked at. */
let schemaOf = "";

async function readSchema(): Promise<void> {
  const of = standing.peek();
  const answer = await callHere<Schema>("schema", target.peek());
  if (of !== standing.peek()) return;
  schemaProblem.value = answer.ok ? null : answer.problem;
  if (answer.ok) [schemaOf, schema.value] = [of, answer.value];
  // What is known stays while the server is away; it says nothing of another moment.
  else if (answer.problem.kind !== "gone" || schemaOf !== of) schema.value = null;
}

/** Nothing of one graph is true of another, and nothing that one person may see is for the next. */
function forget(): void {
  isReady.value = false;
  [schema.value, schemaProblem.value, rights.value, branches.value, commits.value] = [null, null, null, ["main"], []];
  trouble.value = null;
}

effect(() => {
  void epoch.value;
  void untracked(whoAmI);
});

let latest: string | null = null;
let askedAs = token.peek();

effect(() => {
  void epoch.value;
  void branch.value;
  if (token.value !== askedAs) {
    askedAs = token.value;
    me.value = null;
    untracked(forget);
  }
  if (graph.value !== latest) {
    latest = graph.value;
    untracked(forget);
  }
  void untracked(look);
});

effect(() => {
  void epoch.value;
  // A branch that has no commits here yet is not read yet.
  if (graph.value !== null && (head.value !== "" || moment.value !== null) && standing.value) void untracked(readSchema);
});

// Somebody comes back to the page: others may have changed the graph meanwhile.
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") void look();
});
addEventListener("focus", () => void look());
