/**
 * Where we are: everything that a link to the page must hold is in its address.
 *
 * Graph and view are the path; the rest stands behind the #, which no server and no proxy sees or logs.
 */
import { computed, signal } from "@preact/signals";
// First of all: it takes what `omnigraph explore` put behind the # into the address.
import "../api/link";

export const BASE = "/explore";

export interface Place {
  readonly graph: string | null;
  readonly view: string;
  readonly params: Readonly<Record<string, string>>;
}

/** A part of a path; as it stands where it is no encoding of a text. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const read = (): Place => {
  const parts = location.pathname.slice(BASE.length).split("/").filter(Boolean).map(decoded);
  return {
    graph: parts[0] ?? null,
    view: parts[1] ?? "query",
    params: Object.fromEntries(new URLSearchParams(location.hash.slice(1))),
  };
};

export const place = signal<Place>(read());
export const branch = computed(() => place.value.params.branch || "main");
/** The commit that the time slider stands at; null is now. */
export const moment = computed(() => place.value.params.at || null);

/** Params that stay when the view changes. */
const KEPT = ["branch", "at"];

export interface Going {
  readonly graph?: string;
  readonly view?: string;
  /** Params to set; undefined, null and "" take one away. */
  readonly set?: Readonly<Record<string, string | null | undefined>>;
}

export function address(going: Going): string {
  const from = place.peek();
  const graph = going.graph ?? from.graph;
  const view = going.view ?? from.view;
  const stays = graph === from.graph && view === from.view;
  const params: Record<string, string> = {};
  for (const [name, value] of Object.entries(from.params)) {
    if (stays || (graph === from.graph && KEPT.includes(name))) params[name] = value;
  }
  for (const [name, value] of Object.entries(going.set ?? {})) {
    if (value) params[name] = value;
    else delete params[name];
  }
  const query = new URLSearchParams(params).toString();
  const path = graph === null ? `${BASE}/` : `${BASE}/${encodeURIComponent(graph)}/${view}`;
  return query ? `${path}#${query}` : path;
}

/** Goes somewhere; with `replace`, without a step for the back button. */
export function go(going: Going, replace = false): void {
  const to = address(going);
  if (to === location.pathname + location.hash) return;
  history[replace ? "replaceState" : "pushState"](null, "", to);
  place.value = read();
}

// A step back, and an address that somebody typed: both come here.
addEventListener("popstate", () => {
  place.value = read();
});

/** Follows links of our own without loading the page anew. */
addEventListener("click", (event) => {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element | null)?.closest?.("a[href]");
  if (!(link instanceof HTMLAnchorElement) || link.target || link.download) return;
  if (link.origin !== location.origin || !link.pathname.startsWith(`${BASE}/`)) return;
  event.preventDefault();
  const to = link.pathname + link.hash;
  if (to === location.pathname + location.hash) return;
  history.pushState(null, "", to);
  place.value = read();
});
