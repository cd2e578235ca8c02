/** One scheme of keys for the whole page. Views add theirs with `useKeys`. */
import { signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";

export interface Key {
  /** "?", "/", "g q" (one after the other), "mod+Enter" (Ctrl or Cmd). */
  readonly keys: string;
  readonly what: string;
  readonly run: () => void;
  /** Also while somebody types. Only keys with mod may be. */
  readonly whileTyping?: boolean;
}

const bound = signal<readonly Key[]>([]);
export const keysShown = signal(false);
export const allKeys = bound;

export function bindKeys(keys: readonly Key[]): () => void {
  bound.value = [...bound.peek(), ...keys];
  return () => {
    bound.value = bound.peek().filter((key) => !keys.includes(key));
  };
}

/** Keys that hold while a view is on the page: from the moment that it is seen, and with what it shows just then. */
export function useKeys(keys: readonly Key[], dependencies: readonly unknown[] = []): void {
  useLayoutEffect(() => bindKeys(keys), dependencies);
}

let first: string | null = null;
let forget: ReturnType<typeof setTimeout> | undefined;

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName)) &&
  !(target instanceof HTMLInputElement && ["checkbox", "radio", "button", "range"].includes(target.type));

/** Many keyboards have brackets and the slash behind AltGr or Option: Windows tells of AltGr as Ctrl and Alt. */
const isSign = (event: KeyboardEvent): boolean => event.altKey && /^[[\]/?+-]$/.test(event.key);

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing || (event.altKey && !isSign(event))) return;
  const mod = (event.ctrlKey || event.metaKey) && !isSign(event);
  const name = mod ? `mod+${event.key}` : event.key;
  const typing = isTyping(event.target);
  const open = document.querySelector("dialog[open]") !== null;
  const candidates = bound.peek().filter((key) => (key.whileTyping === true || !typing) && !open);
  const together = first === null ? null : `${first} ${name}`;
  // The latest binding wins: a view's own comes before the page's.
  const hit =
    candidates.findLast((key) => key.keys === together) ?? candidates.findLast((key) => key.keys === name);
  clearTimeout(forget);
  first = null;
  if (hit !== undefined) {
    event.preventDefault();
    hit.run();
  } else if (!typing && !mod && candidates.some((key) => key.keys.startsWith(`${name} `))) {
    first = name;
    forget = setTimeout(() => (first = null), 1500);
  }
});
