/** Values as the server writes them, and as the page shows them. */

export type Value = null | boolean | number | bigint | string | readonly Value[] | { readonly [name: string]: Value };

interface Context {
  readonly source?: string;
}

/** Reads JSON; whole numbers that a float can't hold become bigints where the browser tells their text. */
export function parse(text: string): unknown {
  const revive = (_: string, value: unknown, context?: Context): unknown => {
    if (typeof value === "number" && !Number.isSafeInteger(value) && context?.source !== undefined) {
      if (/^-?\d+$/.test(context.source)) return BigInt(context.source);
    }
    return value;
  };
  return untag(JSON.parse(text, revive as (key: string, value: unknown) => unknown));
}

/** Takes the server's marks of classes away: a time becomes its text, an object its members. */
export function untag(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(untag);
  if (typeof value !== "object" || value === null) return value;
  const found = value as Record<string, unknown>;
  const mark = found["~"];
  if ("of" in found && Object.keys(found).length === 2 && mark !== undefined) {
    if (mark === "pairs") return Object.fromEntries((found.of as [unknown, unknown][]).map(([k, v]) => [String(k), untag(v)]));
    if (mark === "bytes") return `base64:${String(found.of)}`;
    return untag(found.of);
  }
  const plain: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(found)) if (name !== "~") plain[name] = untag(member);
  return plain;
}

/** JSON for people to read and copy. Bigints keep their digits. */
export function jsonText(value: unknown, indent = ""): string {
  if (typeof value === "bigint") return value.toString();
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    if (value.every((item) => typeof item === "number")) return `[${value.join(", ")}]`;
    const inner = `${indent}  `;
    return `[\n${value.map((item) => inner + jsonText(item, inner)).join(",\n")}\n${indent}]`;
  }
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value);
    if (members.length === 0) return "{}";
    const inner = `${indent}  `;
    const lines = members.map(([name, member]) => `${inner}${JSON.stringify(name)}: ${jsonText(member, inner)}`);
    return `{\n${lines.join(",\n")}\n${indent}}`;
  }
  return JSON.stringify(value) ?? "null";
}

const LONGEST_LIST = 6;

/** A value in one line, as a cell of a table shows it. */
export function shown(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) {
    const some = value.slice(0, LONGEST_LIST).map((item) => (typeof item === "number" ? String(+item.toPrecision(5)) : shown(item)));
    return `[${some.join(", ")}${value.length > LONGEST_LIST ? `, … ${value.length}` : ""}]`;
  }
  if (typeof value === "object") {
    const members = Object.entries(value as Record<string, unknown>).filter(([, member]) => member !== null);
    return members.map(([name, member]) => `${name}: ${shown(member)}`).join(", ");
  }
  return String(value);
}

/** Whether two values are one; bigints too, which `JSON.stringify` refuses. */
export const isSame = (a: unknown, b: unknown): boolean => jsonText(a ?? null) === jsonText(b ?? null);

/** A value beside others: in one line, or whole where one line would hide that they differ. */
export function apart(value: unknown, others: readonly unknown[]): string {
  const text = shown(value);
  return others.some((other) => shown(other) === text && !isSame(other, value)) ? jsonText(value).replaceAll(/\n */g, " ") : text;
}

/** Orders values of one column: nulls first, numbers by size, the rest by text. */
export function compare(a: unknown, b: unknown): number {
  const isNone = (value: unknown): boolean => value === null || value === undefined;
  if (isNone(a) || isNone(b)) return Number(isNone(b)) - Number(isNone(a));
  const isNumber = (value: unknown): value is number | bigint => typeof value === "number" || typeof value === "bigint";
  if (isNumber(a) && isNumber(b)) return a < b ? -1 : a > b ? 1 : 0;
  const [left, right] = [shown(a), shown(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}
