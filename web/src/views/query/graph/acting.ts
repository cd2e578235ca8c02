/** What the panel beside the picture may do with it; null while none is drawn. */
import { type ReadonlySignal, signal } from "@preact/signals";
import type { Kind } from "./expand";

export interface Acting {
  readonly expand: (key: string, kind: Kind | null) => void;
  readonly dismiss: (key: string) => void;
  readonly pin: (key: string) => void;
  readonly isPinned: (key: string) => boolean;
  readonly has: (key: string) => boolean;
  /** Counts up with every change of the picture. */
  readonly version: ReadonlySignal<number>;
}

export const acting = signal<Acting | null>(null);
