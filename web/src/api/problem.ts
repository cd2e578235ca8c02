/** What went wrong with a request, as a value that a view shows. */

export type ProblemKind =
  | "token" // 401: the server wants a token, or another one
  | "denied" // 403: known, but not allowed
  | "absent" // 404
  | "stale" // 409, 412: somebody else was faster
  | "busy" // 429, 503: too much at once, and waiting did not help
  | "gone" // no answer at all
  | "refused" // the request is wrong: the sentence says what
  | "broken"; // 500 and whatever else should not be

export interface Problem {
  readonly kind: ProblemKind;
  readonly status: number;
  readonly code: string;
  readonly sentence: string;
  readonly hint: string | null;
  readonly details: Readonly<Record<string, unknown>>;
  /** The whole answer, for views that know more of it. */
  readonly body: Readonly<Record<string, unknown>>;
}

export type Answer<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: Problem };

const KINDS: Readonly<Record<number, ProblemKind>> = {
  401: "token",
  403: "denied",
  404: "absent",
  409: "stale",
  412: "stale",
  429: "busy",
  503: "busy",
};

const record = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};

export function problemOf(status: number, text: string): Problem {
  let body: Record<string, unknown> = {};
  try {
    body = record(JSON.parse(text));
  } catch {
    // Not ours: a proxy's page, most likely. The status says enough.
  }
  const details = record(body.details);
  return {
    kind: KINDS[status] ?? (status >= 500 ? "broken" : "refused"),
    status,
    code: String(details.code ?? body.code ?? status),
    sentence: typeof body.error === "string" ? body.error : `The server answered with status ${status}.`,
    hint: typeof body.hint === "string" ? body.hint : null,
    details,
    body,
  };
}

export function gone(): Problem {
  return {
    kind: "gone",
    status: 0,
    code: "gone",
    sentence: "The server can't be reached.",
    hint: "What you typed is kept. The page tries again by itself.",
    details: {},
    body: {},
  };
}
