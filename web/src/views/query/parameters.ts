/** Values of parameters: from what is typed into a form to what the server takes. */
import type { KnownParameter, StoredQuery } from "../../api/types";

const KINDS: Readonly<Record<string, string>> = {
  string: "String",
  bool: "Bool",
  int: "I64",
  bigint: "I64",
  float: "F64",
  date: "Date",
  datetime: "DateTime",
  blob: "Blob",
};

/** Parameters of a stored query in the words of the language. */
export function parametersOf(query: StoredQuery): KnownParameter[] {
  return query.params.map((param) => {
    const plain = (kind: string | null): string => KINDS[kind ?? "string"] ?? "String";
    const type =
      param.kind === "vector" ? `Vector(${param.vector_dim ?? 0})` : param.kind === "list" ? `[${plain(param.item_kind)}]` : plain(param.kind);
    return { name: param.name, type, is_nullable: param.nullable };
  });
}

export type Input = "text" | "number" | "choice" | "date" | "list";

export function inputOf(type: string): { readonly kind: Input; readonly choices: readonly string[]; readonly example: string } {
  const bare = type.replace(/\?$/, "");
  if (bare === "Bool") return { kind: "choice", choices: ["true", "false"], example: "" };
  if (bare.startsWith("enum(")) return { kind: "choice", choices: bare.slice(5, -1).split(",").map((word) => word.trim()), example: "" };
  if (/^[IU](32|64)$/.test(bare)) return { kind: "number", choices: [], example: "42" };
  if (/^F(32|64)$/.test(bare)) return { kind: "number", choices: [], example: "0.5" };
  if (bare === "Date") return { kind: "date", choices: [], example: "2026-01-31" };
  if (bare === "DateTime") return { kind: "text", choices: [], example: "2026-01-31T12:00:00Z" };
  if (bare.startsWith("[") || bare.startsWith("Vector")) return { kind: "list", choices: [], example: bare.startsWith("[S") ? "one, two" : "1, 2" };
  return { kind: "text", choices: [], example: "" };
}

type Read = { readonly params: Record<string, unknown> } | { readonly sentence: string };

/** JSON.stringify would round a large whole number: where the browser can, it is sent as it was typed. */
function whole(typed: string): unknown {
  const raw = (JSON as unknown as { rawJSON?: (text: string) => unknown }).rawJSON;
  return Number.isSafeInteger(Number(typed)) || raw === undefined ? Number(typed) : raw(typed);
}

const NUMBER = /^-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;

function one(type: string, typed: string): unknown {
  const trimmed = typed.trim();
  switch (inputOf(type).kind) {
    case "number":
      if (!NUMBER.test(trimmed)) return undefined;
      return /^-?\d+$/.test(trimmed) ? whole(trimmed.replace(/^(-?)0+(?=\d)/, "$1")) : Number(trimmed);
    case "choice":
      return type.replace(/\?$/, "") === "Bool" ? trimmed === "true" : trimmed;
    case "list": {
      if (trimmed.startsWith("[")) {
        try {
          return JSON.parse(trimmed);
        } catch {
          return undefined;
        }
      }
      const item = type.startsWith("[") ? type.replace(/\?$/, "").slice(1, -1) : "F64";
      const items = trimmed.split(",").map((part) => one(item, part.trim()));
      return items.includes(undefined) ? undefined : items;
    }
    case "date":
      return trimmed;
    case "text":
      return typed;
  }
}

/** All values, or a sentence about the first that is missing or can't be read. */
export function valuesOf(parameters: readonly KnownParameter[], typed: Readonly<Record<string, string>>): Read {
  const params: Record<string, unknown> = {};
  for (const parameter of parameters) {
    const given = typed[parameter.name] ?? "";
    const isText = inputOf(parameter.type).kind === "text";
    if (given === "" && parameter.is_nullable) continue;
    if (given.trim() === "" && !(isText && parameter.type.startsWith("String"))) {
      return { sentence: `Give a value for ${parameter.name}.` };
    }
    const value = one(parameter.type, given);
    if (value === undefined) return { sentence: `${parameter.name} must be ${parameter.type}: “${given}” is not.` };
    params[parameter.name] = value;
  }
  return { params };
}
