/** Choices between two sides. They outlive a reload of the page and a branch that moved: who chose once need not choose again. */
import { signal } from "@preact/signals";
import type { Answer } from "../../api/problem";
import type { Brought, Choice, Conflict, Take } from "./shapes";

export interface Draft {
  readonly takes: Readonly<Record<string, Take>>;
  /** One side of all conflicts, also of those that are not listed. */
  readonly all: Take | null;
  readonly comment: string;
}

const KEPT_AS = "omnigraph.drafts";
const NOTHING: Draft = { takes: {}, all: null, comment: "" };

function kept(): Readonly<Record<string, Draft>> {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT_AS) ?? "{}") as Record<string, Draft>;
  } catch {
    return {};
  }
}

const drafts = signal<Readonly<Record<string, Draft>>>(kept());

export const draftOf = (about: string): Draft => drafts.value[about] ?? NOTHING;

export function putDraft(about: string, draft: Partial<Draft> | null): void {
  const { [about]: before = NOTHING, ...others } = drafts.peek();
  drafts.value = draft === null ? others : { ...others, [about]: { ...before, ...draft } };
  sessionStorage.setItem(KEPT_AS, JSON.stringify(drafts.peek()));
}

/** A conflict's name: the same after the branches have moved, if it is about the same. */
export const nameOf = (conflict: Conflict): string =>
  JSON.stringify([conflict.type_name, conflict.entity_id, conflict.property, conflict.kind]);

/** Only ours can be taken where a row breaks a rule of the target. */
export const isOneSided = (conflict: Conflict): boolean => conflict.kind === "value_constraint_violation";

/** The side that is taken: of this conflict, or of all. */
export const takeOf = (draft: Draft, conflict: Conflict): Take | undefined =>
  draft.takes[nameOf(conflict)] ?? (draft.all !== null && isOneSided(conflict) ? "ours" : (draft.all ?? undefined));

/** The choices that fit the conflicts there are now: the server refuses those that fit none. */
function choicesOf(draft: Draft, conflicts: readonly Conflict[]): Choice[] {
  const found: Choice[] = [];
  for (const conflict of conflicts) {
    const take = takeOf(draft, conflict);
    if (take === undefined) continue;
    const { type_name: type, entity_id: id, property, kind } = conflict;
    found.push({ type, id, property, kind, take });
  }
  return found;
}

/** What a merge is told: a choice for each, one for all where not all are listed, or none. */
function resolveOf(draft: Draft, choices: readonly Choice[], more: number): readonly Choice[] | Take | null {
  if (more > 0 && draft.all !== null) return draft.all;
  return choices.length === 0 ? null : choices;
}

/** What choices come to. */
export interface Settled<T> {
  readonly outcome: T;
  /** Those that there are without a choice, and those that the choices bring up. */
  readonly conflicts: readonly Conflict[];
  /** Just what the server was asked: a merge is told the same. */
  readonly resolve: readonly Choice[] | Take | null;
}

export const hasChoices = (draft: Draft): boolean => draft.all !== null || Object.keys(draft.takes).length > 0;

/** Names everything that `settle` depends on, beside the branches. */
export const choicesKey = (draft: Draft): string => JSON.stringify([draft.takes, draft.all]);

/**
 * Asks what the choices come to.
 *
 * A choice may bring up a conflict, for which there may be a choice already; another choice may take it away
 * again, and then the server would refuse the one that is about it. So those that come up are found anew each time.
 */
export async function settle<T extends Pick<Brought, "conflicts" | "more_conflicts">>(
  first: T,
  draft: Draft,
  ask: (resolve: readonly Choice[] | Take) => Promise<Answer<T>>,
): Promise<Answer<Settled<T>>> {
  let conflicts = first.conflicts;
  for (;;) {
    const resolve = resolveOf(draft, choicesOf(draft, conflicts), first.more_conflicts);
    if (resolve === null) return { ok: true, value: { outcome: first, conflicts, resolve } };
    const answer = await ask(resolve);
    if (!answer.ok) return answer;
    const known = new Set(conflicts.map(nameOf));
    const more = answer.value.conflicts.filter((conflict) => !known.has(nameOf(conflict)));
    conflicts = [...conflicts, ...more];
    const isAll = typeof resolve === "string" || more.every((conflict) => takeOf(draft, conflict) === undefined);
    if (isAll) return { ok: true, value: { outcome: answer.value, conflicts, resolve } };
  }
}
