/** Whether the server is there, and who we are to it. */
import { batch, signal } from "@preact/signals";

const KEPT_AS = "omnigraph.token";

/**
 * Takes the token out of the address, so that it is not in a link that somebody shares.
 *
 * `omnigraph explore` opens `/explore#token=…&graph=…&branch=…`: the graph becomes a part of the path.
 */
function takeToken(): string | null {
  const given = new URLSearchParams(location.hash.slice(1));
  const graph = given.get("graph");
  const isBare = /^\/explore\/?$/.test(location.pathname);
  if (given.has("token")) sessionStorage.setItem(KEPT_AS, given.get("token") ?? "");
  if (given.has("token") || graph !== null) {
    const path = graph !== null && isBare ? `/explore/${encodeURIComponent(graph)}/query` : location.pathname;
    given.delete("token");
    given.delete("graph");
    if (given.get("branch") === "main") given.delete("branch");
    history.replaceState(null, "", given.size > 0 ? `${path}#${given}` : path);
  }
  return sessionStorage.getItem(KEPT_AS);
}

export const token = signal<string | null>(takeToken());
/** Whether the server asked for a token that we don't have. */
export const tokenWanted = signal(false);
/** "gone" while no request comes through. */
export const link = signal<"there" | "gone">("there");
/** Until when a busy server asked us to wait; null if it did not. */
export const waiting = signal<number | null>(null);
/** Counts up when everything that is shown should be asked for anew. */
export const epoch = signal(0);

/** Whether the head of the branch is known: asking before that would be asking twice. */
export const isReady = signal(false);

export function refresh(): void {
  epoch.value += 1;
}

export function useToken(given: string): void {
  sessionStorage.setItem(KEPT_AS, given);
  batch(() => {
    token.value = given;
    tokenWanted.value = false;
    refresh();
  });
}

export function forgetToken(): void {
  sessionStorage.removeItem(KEPT_AS);
  batch(() => {
    token.value = null;
    // Who may see something without one sees it now, and a server that wants one says so.
    refresh();
  });
}

let knocking: Promise<void> | null = null;

/** Knocks until the server answers, then has everything asked for anew. Who calls it meanwhile waits for the same. */
export function lost(): Promise<void> {
  link.value = "gone";
  knocking ??= knock().finally(() => (knocking = null));
  return knocking;
}

async function knock(): Promise<void> {
  for (let pause = 500; ; pause = Math.min(pause * 1.6, 8_000)) {
    await new Promise((resolve) => setTimeout(resolve, pause));
    try {
      if ((await fetch("/healthz", { cache: "no-store" })).ok) break;
    } catch {
      // Still gone.
    }
  }
  link.value = "there";
  refresh();
}
