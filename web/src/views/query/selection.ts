/** The entity that the panel beside the answer shows. */
import { signal } from "@preact/signals";

export interface Selected {
  readonly type: string;
  readonly id: string;
}

export const selected = signal<Selected | null>(null);
