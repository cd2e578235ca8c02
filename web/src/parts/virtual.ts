/** Rows that are not on the screen are not in the page: 100,000 of them scroll as 30 do. */
import { elementScroll, observeElementOffset, observeElementRect, type VirtualItem, Virtualizer } from "@tanstack/virtual-core";
import { type RefObject } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";

interface Rows {
  readonly items: readonly VirtualItem[];
  readonly height: number;
  readonly scrollTo: (index: number) => void;
}

export function useVirtual(count: number, rowHeight: number, scroller: RefObject<HTMLElement | null>): Rows {
  const [, redraw] = useState(0);
  const [virtual] = useState(
    () =>
      new Virtualizer<HTMLElement, HTMLElement>({
        count,
        getScrollElement: () => scroller.current,
        estimateSize: () => rowHeight,
        overscan: 12,
        scrollToFn: elementScroll,
        observeElementRect,
        observeElementOffset,
        onChange: () => redraw((round) => round + 1),
      }),
  );
  virtual.setOptions({ ...virtual.options, count });
  useEffect(() => virtual._didMount(), [virtual]);
  useLayoutEffect(() => virtual._willUpdate());
  return {
    items: virtual.getVirtualItems(),
    height: virtual.getTotalSize(),
    scrollTo: (index) => virtual.scrollToIndex(index, { align: "auto" }),
  };
}
