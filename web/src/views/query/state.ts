/** The query that is typed, what is known of it, and its answer. It outlives the view: nothing typed is lost. */
import { computed, effect, signal, untracked } from "@preact/signals";
import { ask } from "../../api/ask";
import { epoch, token } from "../../api/link";
import type { Answer, Problem } from "../../api/problem";
import type { KnownParameter, Lint, MutationAnswer, QueryAnswer, StoredQuery } from "../../api/types";
import { branch, go, moment, place } from "../../app/route";
import { callHere, graph, here, look, may, schema, standing, target, whenReady } from "../../app/session";
import { tell } from "../../app/toasts";
import { counted } from "../../parts/times";
import { parametersOf, valuesOf } from "./parameters";
import { sampleText } from "./samples";
import { selected } from "./selection";

export const MOST_ROWS = 10_000;
export const MOST_NODES = 5_000;
/** A longer text is not put into the address: nobody could share it. */
const LONGEST_LINK = 16_000;

export type Shape = "table" | "graph" | "json" | "plan";

/** What was run: enough to run it again, at another moment too. */
export interface Run {
  readonly text: string | null;
  readonly stored: string | null;
  readonly name: string | null;
  readonly params: Readonly<Record<string, unknown>>;
}

export interface Outcome {
  readonly run: Run;
  readonly standing: string;
  readonly answer: QueryAnswer | null;
  readonly change: MutationAnswer | null;
  readonly problem: Problem | null;
  /** Whether it was to change the graph: such a run is never made again by itself. */
  readonly isChange: boolean;
}

const draftKey = (): string => `omnigraph.query.${graph.peek() ?? ""}`;
const linked = place.peek().view === "query" ? place.peek().params : {};

export const text = signal(linked.q ?? sessionStorage.getItem(draftKey()) ?? "");
export const typed = signal<Readonly<Record<string, string>>>(readTyped(linked.p ?? sessionStorage.getItem(`${draftKey()}.values`)));
/** The stored query that the form is about; null: the editor. */
export const storedName = computed(() => (place.value.view === "query" ? (place.value.params.stored ?? null) : null));
export const stored = signal<readonly StoredQuery[]>([]);
export const lint = signal<Lint | null>(null);
/** The text that `lint` is of: while the server is away, another one may be typed. */
let linted = "";
/** Where the cursor stands, in code points: of several queries in the text, it says which one is meant. */
export const cursor = signal(0);
export const isRunning = signal(false);
export const outcome = signal<Outcome | null>(null);
/** A change that waits for the reader's word. */
export const asking = signal<Run | null>(null);

function readTyped(given: string | null): Record<string, string> {
  try {
    const found: unknown = JSON.parse(given ?? "{}");
    return typeof found === "object" && found !== null ? (found as Record<string, string>) : {};
  } catch {
    return {};
  }
}

export const current = computed(() => {
  const queries = lint.value?.queries ?? [];
  const at = cursor.value;
  return queries.findLast((query) => query.start <= at) ?? queries[0] ?? null;
});

export const storedQuery = computed(() => stored.value.find((query) => query.name === storedName.value) ?? null);

export const parameters = computed<readonly KnownParameter[]>(() =>
  storedName.value === null ? (current.value?.parameters ?? []) : storedQuery.value === null ? [] : parametersOf(storedQuery.value),
);

export const isMutation = computed(() =>
  storedName.value === null ? (current.value?.is_mutation ?? false) : (storedQuery.value?.mutation ?? false),
);

export const shape = computed<Shape>(() => {
  const named = place.value.params.as;
  if (named === "graph" || named === "json" || named === "plan" || named === "table") return named;
  return "table";
});

/** Whether the answer has the whole width. */
export const isWide = computed(() => place.value.params.wide === "1");

let draftOf = graph.peek();

/** Nothing of one graph is true of another: what was asked there, and what is under way. */
function forget(): void {
  stop();
  [outcome.value, lint.value, asking.value, selected.value, stored.value] = [null, null, null, null, []];
  // A step back to a question that was asked here before asks it again.
  inAddress = linkedOf({});
}

/** What is asked and not answered yet. */
let reading: Run | null = null;
let askedAs = token.peek();

// Rows that one person may see are not for the next one, who asks for themselves.
effect(() => {
  if (token.value === askedAs) return;
  askedAs = token.value;
  untracked(() => {
    const shown = outcome.peek();
    const again = shown === null ? reading : shown.isChange ? null : shown.run;
    forget();
    if (again !== null) void read(again);
  });
});

/** Where a change would be made, and where it is looked at from. */
const whereabouts = computed(() => [place.value.view, branch.value, moment.value].join("|"));

// A change that waits for a word is about one branch, as it is now: who goes elsewhere did not give it.
effect(() => {
  void whereabouts.value;
  asking.value = null;
});

// Each graph has a text of its own, which a reload of the page keeps.
effect(() => {
  if (graph.value !== draftOf) {
    draftOf = graph.value;
    untracked(forget);
    text.value = sessionStorage.getItem(draftKey()) ?? "";
    typed.value = readTyped(sessionStorage.getItem(`${draftKey()}.values`));
  } else if (draftOf !== null) {
    sessionStorage.setItem(draftKey(), text.value);
    sessionStorage.setItem(`${draftKey()}.values`, JSON.stringify(typed.value));
  }
});

// The list of stored queries, for the graph and who asks.
effect(() => {
  void epoch.value;
  if (graph.value === null) return;
  untracked(async () => {
    const of = graph.peek();
    const answer = await ask<{ queries: StoredQuery[] }>(`${here()}/queries`);
    if (answer.ok && of === graph.peek()) stored.value = answer.value.queries;
  });
});

// A text to begin with, once the schema is known.
effect(() => {
  const known = schema.value;
  if (known !== null && text.peek() === "") text.value = sampleText(known);
});

/** What the form and the editor ask for now; null while something is missing. */
function wanted(): Run | null {
  const values = valuesOf(parameters.peek(), typed.peek());
  if ("sentence" in values) {
    tell(values.sentence, "bad");
    return null;
  }
  const isStored = storedName.peek() !== null;
  return {
    text: isStored ? null : text.peek(),
    stored: storedName.peek(),
    name: isStored || linted !== text.peek() ? null : (current.peek()?.name ?? null),
    params: values.params,
  };
}

/** Runs what is typed. A change waits for a word first. */
export async function run(): Promise<void> {
  // The lint of what was typed last may be under way: which query is meant, and whether it changes, is known after it.
  const of = graph.peek();
  if (storedName.peek() === null) await lintNow();
  if (of !== graph.peek()) return;
  const asked = wanted();
  if (asked === null) return;
  if (isMutation.peek()) return propose(asked);
  remember(asked);
  await read(asked);
}

/** Asks for a word about a change, where there may be one. */
function propose(asked: Run): void {
  if (moment.peek() !== null) tell("You look at the past, which can't be changed. Go back to now first.", "bad");
  else if (!may("change")) tell(`You may not change ${branch.peek()}.`, "bad");
  else asking.value = asked;
}

/** Runs once more what was run; a change asks for a word again. */
export function runAgain(): void {
  const shown = outcome.peek();
  if (shown === null) return;
  if (shown.isChange) propose(shown.run);
  else void read(shown.run);
}

/** Puts a text into the editor and runs it. */
export function runText(wanted: string, as: string | null = place.peek().params.as ?? null): void {
  text.value = wanted;
  typed.value = {};
  go({ set: { stored: null, as } });
  void run();
}

export async function lintNow(): Promise<Lint | null> {
  const [of, on] = [text.peek(), graph.peek()];
  const answer = await callHere<Lint>("lint", { source: { text: of, name: "<editor>" }, ...target.peek() });
  if (!answer.ok || on !== graph.peek()) return null;
  if (of === text.peek()) [linted, lint.value] = [of, answer.value];
  return answer.value;
}

/** Puts the query into the address, so that a link shows the same. */
function remember(asked: Run): void {
  const p = JSON.stringify(Object.fromEntries(Object.entries(typed.peek()).filter(([name]) => name in asked.params)));
  const q = asked.text ?? "";
  // Of several queries in a text, the one that was run.
  const isOneOfSeveral = asked.text !== null && (lint.peek()?.queries.length ?? 0) > 1;
  const n = isOneOfSeveral ? (asked.name ?? "") : "";
  const fits = encodeURIComponent(q).length + encodeURIComponent(p).length < LONGEST_LINK;
  const before = linkedOf(place.peek().params);
  const isStep = place.peek().params.run === "1" && fits && linkedOf({ q, p, n, stored: asked.stored ?? "" }) !== before;
  go({ set: fits ? { q, n, p: p === "{}" ? null : p, run: "1" } : { q: null, n: null, p: null, run: null } }, !isStep);
  inAddress = linkedOf(place.peek().params);
}

/** The question that an address holds. */
const linkedOf = ({ q, n, p, stored: name }: Readonly<Record<string, string>>): string =>
  JSON.stringify([q ?? "", n ?? "", p ?? "{}", name ?? ""]);

let inAddress = linkedOf(linked);

// A step back, or a link that somebody put into the address of this tab.
addEventListener("popstate", () => {
  const { view, params } = place.peek();
  const found = linkedOf(params);
  if (view !== "query" || params.run !== "1" || found === inAddress) return;
  inAddress = found;
  if (params.q !== undefined) text.value = params.q;
  typed.value = readTyped(params.p ?? null);
  void runAddress();
});

let last: AbortController | null = null;

async function read(asked: Run): Promise<void> {
  last?.abort();
  const abort = (last = new AbortController());
  reading = asked;
  isRunning.value = true;
  await whenReady();
  if (abort.signal.aborted) return;
  const of = standing.peek();
  try {
    const answer = await (asked.stored === null ? ofText(asked, abort.signal) : ofStored(asked.stored, asked, abort.signal));
    if (abort.signal.aborted) return;
    outcome.value = answer.ok
      ? { run: asked, standing: of, answer: answer.value, change: null, problem: null, isChange: false }
      : {
          run: asked,
          standing: of,
          // While the server is away the rows stay on the screen, but not those of another moment or branch.
          answer: answer.problem.kind === "gone" && outcome.peek()?.standing === of ? (outcome.peek()?.answer ?? null) : null,
          change: null,
          problem: answer.problem,
          isChange: false,
        };
  } catch (error) {
    if (!abort.signal.aborted) throw error;
  } finally {
    if (last === abort) {
      reading = null;
      isRunning.value = false;
    }
  }
}

export function stop(): void {
  last?.abort();
  reading = null;
  isRunning.value = false;
}

const ofText = (asked: Run, signal: AbortSignal): Promise<Answer<QueryAnswer>> =>
  callHere("answer", { ...bodyOf(asked), limit_rows: MOST_ROWS, limit_nodes: MOST_NODES }, signal);

function ofStored(name: string, asked: Run, signal: AbortSignal): Promise<Answer<QueryAnswer>> {
  const where = target.peek();
  const body = { params: asked.params, ...("moment" in where ? { snapshot: where.moment } : where) };
  return ask(`${here()}/queries/${encodeURIComponent(name)}/answer`, { body, signal });
}

/** The text, its parameters and the moment, as calls take them. */
export const bodyOf = (asked: Run): Record<string, unknown> => ({
  source: { text: asked.text, name: "<editor>" },
  name: asked.name,
  params: asked.params,
  ...target.peek(),
});

/** Nobody can say whether a change was made whose answer got lost. */
const UNKNOWN = {
  sentence: "The server went away before it answered, so the change may have been made or not.",
  hint: "When it is back, the history tells. Nothing is changed twice by itself.",
};

/** Makes the change that `asking` holds, with a message for the commit. */
export async function change(message: string): Promise<void> {
  const asked = asking.peek();
  if (asked === null) return;
  asking.value = null;
  isRunning.value = true;
  const [of, on] = [graph.peek(), branch.peek()];
  const answer =
    asked.stored === null
      ? await callHere<MutationAnswer>("mutate", {
          source: { text: asked.text, name: "<editor>" },
          name: asked.name,
          params: asked.params,
          branch: on,
          message: message.trim() === "" ? null : message.trim(),
        })
      : await ask<MutationAnswer>(`${here()}/queries/${encodeURIComponent(asked.stored)}`, {
          body: { params: asked.params, branch: on },
        });
  if (of !== graph.peek()) {
    // Somebody went to another graph meanwhile. What became of the change is told all the same.
    tell(answer.ok ? `${of} was changed.` : `${of}: ${answer.problem.sentence}`, answer.ok ? "good" : "bad");
    return;
  }
  isRunning.value = false;
  outcome.value = {
    run: asked,
    standing: standing.peek(),
    answer: null,
    change: answer.ok ? answer.value : null,
    problem: answer.ok ? null : answer.problem.kind === "gone" ? { ...answer.problem, ...UNKNOWN } : answer.problem,
    isChange: true,
  };
  if (!answer.ok) return;
  const { affected_nodes: nodes, affected_edges: edges } = answer.value;
  tell(`Changed ${counted(nodes, "node")} and ${counted(edges, "edge")} on ${on}.`, "good");
  await look();
}

// The answer follows the branch, the moment and the head: it is asked for again, as it was run.
effect(() => {
  const now = standing.value;
  void epoch.value;
  untracked(() => {
    const shown = outcome.peek();
    const isAway = shown?.problem?.kind === "gone";
    if (shown === null || shown.isChange || place.peek().view !== "query") return;
    if (shown.standing !== now || isAway) void read(shown.run);
  });
});

let opened = false;

/** Runs what a link holds, once. */
export async function runLinked(): Promise<void> {
  if (opened) return;
  opened = true;
  if (linked.run === "1" && outcome.peek() === null) await runAddress();
}

/** Runs the question that came with an address. A change is never made by a link. */
async function runAddress(): Promise<void> {
  const of = graph.peek();
  if (storedName.peek() === null) await lintNow();
  if (of !== graph.peek()) return;
  const meant = lint.peek()?.queries.find((query) => query.name === place.peek().params.n);
  if (storedName.peek() === null && meant !== undefined && linted === text.peek()) cursor.value = meant.start;
  if (isMutation.peek()) return;
  const asked = wanted();
  if (asked !== null) await read(asked);
}
