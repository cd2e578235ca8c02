/** The one door to the server. Errors come back as values; nothing here throws but an abort. */
import { type Answer, gone, problemOf } from "./problem";
import { link, lost, token, tokenWanted, waiting } from "./link";
import { parse } from "./values";

export interface Asking {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  readonly query?: Readonly<Record<string, string | number | boolean | null | undefined>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

const PATIENCE = 4;
const LONGEST_WAIT_S = 30;

export async function ask<T>(path: string, asking: Asking = {}): Promise<Answer<T>> {
  for (let attempt = 1; ; attempt++) {
    const sentWith = token.peek();
    const response = await send(path, asking);
    if (response === null) return { ok: false, problem: gone() };
    if (response.status === 429 && attempt <= PATIENCE) {
      await pause(response, asking.signal);
      continue;
    }
    // Whatever was read last may end early when the server goes away in between.
    const text = await response.text().catch(() => null);
    if (asking.signal?.aborted) throw new DOMException("aborted", "AbortError");
    if (text === null) {
      void lost();
      return { ok: false, problem: gone() };
    }
    if (response.ok) return read<T>(text, response.status);
    const problem = problemOf(response.status, text);
    // A late answer to an earlier token says nothing about the one that was given since.
    if (problem.kind === "token" && token.peek() === sentWith) tokenWanted.value = true;
    return { ok: false, problem };
  }
}

function read<T>(text: string, status: number): Answer<T> {
  try {
    return { ok: true, value: (text === "" ? null : parse(text)) as T };
  } catch {
    // Something between us and the server answered in its place: a page to sign in, most likely.
    const sentence = "The answer is none of this server's: something between you and it has answered.";
    return { ok: false, problem: { ...problemOf(status, ""), kind: "broken", sentence } };
  }
}

/** A call of the graph: `POST /graphs/G/calls/NAME`. Its objects come without the server's marks. */
export function call<T>(graph: string, name: string, body: unknown, signal?: AbortSignal): Promise<Answer<T>> {
  const path = `/graphs/${encodeURIComponent(graph)}/calls/${name}`;
  return ask<T>(path, signal === undefined ? { body } : { body, signal });
}

/** Text as it is: rows that were set aside. */
export async function askText(path: string, asking: Asking = {}): Promise<Answer<string>> {
  return whole(await send(path, asking), (response) => response.text());
}

/** Bytes as they are. */
export async function askBlob(path: string, asking: Asking = {}): Promise<Answer<Blob>> {
  return whole(await send(path, asking), (response) => response.blob());
}

async function whole<T>(response: Response | null, read: (response: Response) => Promise<T>): Promise<Answer<T>> {
  if (response === null) return { ok: false, problem: gone() };
  try {
    if (!response.ok) return { ok: false, problem: problemOf(response.status, await response.text()) };
    return { ok: true, value: await read(response) };
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    void lost();
    return { ok: false, problem: gone() };
  }
}

async function send(path: string, asking: Asking): Promise<Response | null> {
  const headers: Record<string, string> = { Accept: "application/json, */*;q=0.5", ...asking.headers };
  if (token.peek() !== null) headers.Authorization = `Bearer ${token.peek()}`;
  if (asking.body !== undefined) headers["Content-Type"] = "application/json";
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(asking.query ?? {})) {
    if (value !== null && value !== undefined) query.set(name, String(value));
  }
  const address = query.size > 0 ? `${path}?${query}` : path;
  try {
    const response = await fetch(address, {
      method: asking.method ?? (asking.body === undefined ? "GET" : "POST"),
      headers,
      body: asking.body === undefined ? null : JSON.stringify(asking.body),
      signal: asking.signal ?? null,
      cache: "no-store",
    });
    link.value = "there";
    return response;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    void lost();
    return null;
  }
}

async function pause(response: Response, signal: AbortSignal | undefined): Promise<void> {
  const asked = Number(response.headers.get("Retry-After") ?? "1");
  const seconds = Math.min(Number.isFinite(asked) ? Math.max(asked, 0.2) : 1, LONGEST_WAIT_S);
  await response.body?.cancel();
  waiting.value = Date.now() + seconds * 1000;
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, seconds * 1000);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("aborted", "AbortError"));
    });
  }).finally(() => (waiting.value = null));
}
