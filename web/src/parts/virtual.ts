// Which rows of a long list are in sight. All rows have the same height, so 100,000 of them cost as much as 40.
import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";

const BEYOND = 12;

export interface Window {
  first: number;
  /** One past the last row to draw. */
  end: number;
  isNarrow: boolean;
  rowHeight: number;
  totalHeight: number;
  scroller: RefObject<HTMLDivElement | null>;
  /** Brings a row into sight without moving more than is needed. */
  reveal: (row: number) => void;
}

export interface Heights {
  wide: number;
  narrow: number;
  narrowBelow: number;
}

export function rowsInSight(
  scrollTop: number,
  viewHeight: number,
  rowHeight: number,
  rows: number,
): { first: number; end: number } {
  const first = Math.max(0, Math.floor(scrollTop / rowHeight) - BEYOND);
  const end = Math.min(rows, Math.ceil((scrollTop + viewHeight) / rowHeight) + BEYOND);
  return { first: Math.min(first, Math.max(0, rows - 1)), end: Math.max(end, 0) };
}

export function useVirtualRows(rows: number, heights: Heights): Window {
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800, width: 1000 });

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const measure = () =>
      setView((was) => {
        const next = { top: element.scrollTop, height: element.clientHeight, width: element.clientWidth };
        return was.top === next.top && was.height === next.height && was.width === next.width ? was : next;
      });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);

  const isNarrow = view.width < heights.narrowBelow;
  const rowHeight = isNarrow ? heights.narrow : heights.wide;
  // When the height of the rows changes, the row at the top stays at the top.
  const before = useRef(rowHeight);
  useEffect(() => {
    const element = scroller.current;
    if (element && before.current !== rowHeight) element.scrollTop = (element.scrollTop / before.current) * rowHeight;
    before.current = rowHeight;
  }, [rowHeight]);

  const reveal = (row: number) => {
    const element = scroller.current;
    if (!element) return;
    const top = row * rowHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = top + rowHeight - element.clientHeight;
  };
  const { first, end } = rowsInSight(view.top, view.height, rowHeight, rows);
  return { first, end, isNarrow, rowHeight, totalHeight: rows * rowHeight, scroller, reveal };
}
