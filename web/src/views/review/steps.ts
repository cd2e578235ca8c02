/** Steps through a review with the keyboard. */
import type { Take } from "../../parts/changes/shapes";

/** Focuses the next match after what has the focus, or the one before it. */
export function focusNext(selector: string, by: 1 | -1): void {
  const all = [...document.querySelectorAll<HTMLElement>(selector)];
  if (all.length === 0) return;
  const from = document.activeElement;
  const isAfter = (element: HTMLElement): boolean =>
    from !== null && (from.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
  const holds = (element: HTMLElement): boolean => element === from || element.contains(from);
  const isIn = from !== null && from.closest("main .review-main") !== null;
  const next = !isIn
    ? by === 1
      ? all[0]
      : all.at(-1)
    : by === 1
      ? (all.find((element) => isAfter(element) && !holds(element)) ?? all[0])
      : (all.findLast((element) => !isAfter(element) && !holds(element)) ?? all.at(-1));
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

/** Chooses a side of the conflict that has the focus. */
export function takeFocused(take: Take): void {
  const conflict = document.activeElement?.closest("[data-conflict]");
  conflict?.querySelector<HTMLInputElement>(`input[value="${take}"]:not(:disabled)`)?.click();
}
