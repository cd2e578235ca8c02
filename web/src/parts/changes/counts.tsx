/** How many rows of each type change. The table filters the list below it where it may. */
import { counted, number } from "../times";
import { Dot } from "../types";
import type { Op } from "../change";
import { type Counts, type CountsByType, changed, total } from "./shapes";

const SIGNS: readonly { op: Op; of: keyof Counts; sign: string; word: string }[] = [
  { op: "insert", of: "inserted", sign: "+", word: "new" },
  { op: "update", of: "updated", sign: "~", word: "changed" },
  { op: "delete", of: "deleted", sign: "−", word: "gone" },
];

/** "3 new, 2 changed": null where nothing is. */
export function countsText(counts: Counts): string | null {
  const parts = SIGNS.filter(({ of }) => counts[of] > 0).map(({ of, word }) => `${number(counts[of])} ${word}`);
  return parts.length === 0 ? null : parts.join(", ");
}

/** "6 entities of 2 types: 3 new, 3 changed." */
export function countsSentence(counts: CountsByType): string {
  const sum = total(counts);
  const types = Object.keys(counts).length;
  return `${counted(changed(sum), "entity", "entities")} of ${counted(types, "type")}: ${countsText(sum) ?? "none"}`;
}

interface Filter {
  readonly type: string | null;
  readonly op: Op | null;
  readonly choose: (type: string | null, op: Op | null) => void;
}

export function CountsTable({ counts, filter }: { counts: CountsByType; filter?: Filter }) {
  const types = Object.keys(counts);
  const isAt = (type: string, op: Op | null): boolean => filter?.type === type && filter.op === op;
  return (
    <table class="changes-counts plain">
      <thead>
        <tr>
          <th scope="col">Type</th>
          {SIGNS.map(({ op, sign, word }) => (
            <th key={op} scope="col" class="number">
              <span aria-hidden="true">{sign}</span> {word}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {types.map((type) => (
          <tr key={type}>
            <th scope="row">
              {filter === undefined ? (
                <span class="row tight">
                  <Dot type={type} /> {type}
                </span>
              ) : (
                <button
                  type="button"
                  class="changes-pick"
                  aria-pressed={isAt(type, null)}
                  onClick={() => filter.choose(isAt(type, null) ? null : type, null)}
                >
                  <Dot type={type} /> {type}
                </button>
              )}
            </th>
            {SIGNS.map(({ op, of, sign, word }) => {
              const value = counts[type]?.[of] ?? 0;
              return (
                <td key={op} class="number">
                  {value === 0 ? (
                    <span class="soft">0</span>
                  ) : filter === undefined ? (
                    <span class={`changes-${op}`}>
                      {sign}
                      {number(value)}
                    </span>
                  ) : (
                    <button
                      type="button"
                      class={`changes-pick changes-${op}`}
                      aria-pressed={isAt(type, op)}
                      aria-label={`${number(value)} ${word} of ${type}: show only these`}
                      onClick={() => (isAt(type, op) ? filter.choose(null, null) : filter.choose(type, op))}
                    >
                      {sign}
                      {number(value)}
                    </button>
                  )}
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
