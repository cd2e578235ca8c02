/** A reading that a view shows: asked for when its key changes, or when the server is back. */
import { useEffect, useState } from "preact/hooks";
import { epoch, isReady } from "./link";
import type { Answer, Problem } from "./problem";

export interface Asked<T> {
  /** The latest value. It stays while a newer one is under way, so that nothing jumps. */
  readonly value: T | null;
  readonly problem: Problem | null;
  readonly isAsking: boolean;
  /** Asks again. */
  readonly again: () => void;
}

/**
 * Asks for something whenever its key, `wanted`, changes. A key of null asks for nothing.
 *
 * The key must name everything the question depends on: graph, branch, moment, and what is typed.
 */
export function useAsked<T>(wanted: string | null, question: (signal: AbortSignal) => Promise<Answer<T>>): Asked<T> {
  const key = isReady.value ? wanted : null;
  const [state, setState] = useState<{ key: string | null; value: T | null; problem: Problem | null; isAsking: boolean }>(
    { key: null, value: null, problem: null, isAsking: wanted !== null },
  );
  const [count, setCount] = useState(0);
  const round = epoch.value;
  useEffect(() => {
    if (key === null) {
      setState({ key, value: null, problem: null, isAsking: wanted !== null });
      return;
    }
    const abort = new AbortController();
    setState((before) => ({ ...before, isAsking: true }));
    question(abort.signal)
      .then((answer) => {
        if (abort.signal.aborted) return;
        if (answer.ok) setState({ key, value: answer.value, problem: null, isAsking: false });
        else {
          setState((before) => ({
            key,
            // What is on the screen stays there while the server is away, if it is what was asked for.
            value: answer.problem.kind === "gone" && before.key === key ? before.value : null,
            problem: answer.problem,
            isAsking: false,
          }));
        }
      })
      .catch((error: unknown) => {
        if (!abort.signal.aborted) throw error;
      });
    return () => abort.abort();
  }, [key, count, round]);
  return {
    value: state.value,
    problem: state.problem,
    isAsking: state.isAsking || (wanted !== null && state.key !== key),
    again: () => setCount((before) => before + 1),
  };
}
