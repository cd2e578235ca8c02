import type { Commit } from "../../api/types";
import type { Brought } from "../../parts/changes/shapes";
import { isOfPeople } from "../../parts/lineage";

export interface Review extends Omit<Brought, "commit"> {
  readonly source: string;
  readonly target: string;
  readonly source_commit_id: string;
  readonly base_commit_id: string;
  readonly outcome: "merged" | "fast_forward" | "already_up_to_date";
  /** Those that the merge would bring, newest first. */
  readonly commits: readonly Commit[];
  readonly has_more_commits: boolean;
}

export interface Merged extends Brought {
  readonly source: string;
  readonly target: string;
  readonly branch_deleted: boolean;
}

export const ofPeople = (review: Review): readonly Commit[] => review.commits.filter(isOfPeople);
