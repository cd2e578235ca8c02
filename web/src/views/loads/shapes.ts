import type { Commit } from "../../api/types";

/** A commit that a load made, and what came with it. Numbers are null where rows are hidden from us. */
export interface PastLoad {
  readonly commit: Commit;
  /** Null where it is not kept, or not ours to see. */
  readonly report: null | {
    readonly mode: string;
    readonly read: number;
    readonly loaded: number;
    readonly rejected: number;
    readonly superseded: number;
    readonly rules: readonly { readonly kind: string; readonly type_name: string | null; readonly property: string | null; readonly count: number }[];
  };
  readonly load_ids: readonly string[];
  readonly tables: readonly {
    readonly kind: "node" | "edge";
    readonly type_name: string;
    readonly inserted: number | null;
    readonly updated: number | null;
    readonly deleted: number | null;
    readonly row_count: number | null;
  }[];
}

export type JobState = "uploading" | "queued" | "running" | "succeeded" | "failed" | "cancelled";

export interface Job {
  readonly id: string;
  readonly state: JobState;
  readonly branch: string;
  readonly mode: string;
  readonly dry_run: boolean;
  readonly actor_id: string | null;
  readonly created_at: number;
  readonly changed_at: number;
  readonly cancel_requested: boolean;
  readonly links: { readonly rejected?: string | null };
  readonly upload?: { readonly name: string; readonly received_bytes: number; readonly parts: readonly unknown[] } | null;
  readonly progress?: { readonly phase: string; readonly done: number; readonly total: number } | null;
  readonly result?: { readonly total_entities?: number; readonly commit?: { readonly graph_commit_id: string } | null } | null;
  readonly report?: Readonly<Record<string, unknown>> | null;
  readonly error?: { readonly error: string; readonly hint?: string | null; readonly details?: Readonly<Record<string, unknown>> } | null;
}

/** A row that was set aside, and what is against it. */
export interface Rejected {
  readonly file?: string;
  readonly line?: number;
  readonly type?: string;
  readonly id?: string;
  readonly reasons: readonly { readonly kind: string; readonly property: string | null; readonly message: string }[];
  readonly row: unknown;
}

export const isOver = (job: Job): boolean => ["succeeded", "failed", "cancelled"].includes(job.state);
