/** What the server says of changes, conflicts and merges. */
import type { Commit, PropertyChange } from "../../api/types";
import type { Value } from "../../api/values";
import type { Op } from "../change";

export interface Counts {
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
}

export type CountsByType = Readonly<Record<string, Counts>>;

export interface EntityChange {
  readonly kind: "node" | "edge";
  readonly type_name: string;
  readonly id: string;
  readonly op: Op;
  readonly properties: readonly PropertyChange[];
}

/** The answer of `compare`: a page of what turns one moment into another. */
export interface Comparison {
  readonly from_commit_id: string;
  readonly to_commit_id: string;
  /** Null on later pages. */
  readonly counts: CountsByType | null;
  readonly changes: readonly EntityChange[];
  readonly next_page_token: string | null;
}

export type Side = "base" | "ours" | "theirs";
export type Take = "ours" | "theirs";

export interface Conflict {
  readonly kind: string;
  readonly entity_kind: "node" | "edge";
  readonly type_name: string;
  readonly entity_id: string;
  readonly property: string | null;
  readonly base: Value;
  readonly ours: Value;
  readonly theirs: Value;
  readonly message: string;
  readonly absent: readonly Side[];
}

/** What merges and reverts come to, or would come to. */
export interface Brought {
  readonly commit: Commit | null;
  readonly outcome: string;
  readonly target_commit_id: string;
  readonly counts: CountsByType;
  readonly conflicts: readonly Conflict[];
  readonly more_conflicts: number;
  readonly left_out: Readonly<Record<string, number>>;
  /** In a preview: why the policy would deny it. */
  readonly refusal: string | null;
}

export interface Choice {
  readonly type: string;
  readonly id: string;
  readonly property: string | null;
  readonly kind: string;
  readonly take: Take;
}

export const NONE: Counts = { inserted: 0, updated: 0, deleted: 0 };

export function total(counts: CountsByType): Counts {
  const sum = { ...NONE } as { -readonly [name in keyof Counts]: number };
  for (const of of Object.values(counts)) {
    sum.inserted += of.inserted;
    sum.updated += of.updated;
    sum.deleted += of.deleted;
  }
  return sum;
}

export const changed = (counts: Counts): number => counts.inserted + counts.updated + counts.deleted;
