/** Whether somebody moved a branch while it was looked at. */
import { useEffect, useState } from "preact/hooks";
import { callHere } from "../../app/session";
import type { Log } from "../../parts/lineage";

const EVERY_MS = 8_000;

/**
 * The heads of all branches, asked for now and then while somebody looks at the page.
 *
 * A new round forgets them: what was asked for before a review was read says nothing about it.
 */
export function useHeads(round: number): Readonly<Record<string, string>> | null {
  const [heads, setHeads] = useState<Readonly<Record<string, string>> | null>(null);
  useEffect(() => {
    setHeads(null);
    const abort = new AbortController();
    const look = async (): Promise<void> => {
      if (document.hidden) return;
      const answer = await callHere<Log>("log", { limit: 1 }, abort.signal).catch(() => null);
      if (answer?.ok && !abort.signal.aborted) setHeads(answer.value.heads);
    };
    const timer = setInterval(() => void look(), EVERY_MS);
    const onLook = (): void => void look();
    addEventListener("focus", onLook);
    return () => {
      abort.abort();
      clearInterval(timer);
      removeEventListener("focus", onLook);
    };
  }, [round]);
  return heads;
}
