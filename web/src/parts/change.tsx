/** A value before and after: in colour, and in words for who does not see colours. */
import { apart, isSame } from "../api/values";

function Cell({ value, beside }: { value: unknown; beside: unknown }) {
  if (value === null || value === undefined) return <span class="soft">nothing</span>;
  return value === "" ? <span class="soft">empty text</span> : <>{apart(value, [beside])}</>;
}

export function BeforeAfter({ before, after }: { before: unknown; after: unknown }) {
  const isNew = before === null || before === undefined;
  const isGone = after === null || after === undefined;
  return (
    <span class="change">
      {!isNew && (
        <del class="before">
          <Cell value={before} beside={after} />
        </del>
      )}
      {!isNew && !isGone && <span aria-label="becomes"> → </span>}
      {(!isGone || isNew) && (
        <ins class="after">
          <Cell value={after} beside={before} />
        </ins>
      )}
      {!isNew && !isGone && isSame(before, after) && <span class="soft"> (they differ in what is not shown)</span>}
    </span>
  );
}

const OPS = {
  insert: { tone: "good", sign: "+", text: "new" },
  update: { tone: "warn", sign: "~", text: "changed" },
  delete: { tone: "bad", sign: "−", text: "gone" },
} as const;

export type Op = keyof typeof OPS;

export function OpChip({ op }: { op: Op }) {
  const { tone, sign, text } = OPS[op];
  return (
    <span class={`chip ${tone}`}>
      <span aria-hidden="true">{sign}</span>
      {text}
    </span>
  );
}
