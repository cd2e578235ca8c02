/** Two texts, line by line: what went, what came, and a few lines around. */
export interface Line {
  readonly sign: " " | "+" | "−";
  readonly text: string;
}

/** How many pairs of lines are compared: more would take all of the browser's memory. */
const MOST_PAIRS = 1_000_000;

export const isComparable = (before: string, after: string): boolean =>
  before.split("\n").length * after.split("\n").length <= MOST_PAIRS;

/** The longest common lines stay. */
export function lines(before: string, after: string): Line[] {
  const a = before.split("\n");
  const b = after.split("\n");
  const best: Uint32Array[] = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      best[i]![j] = a[i] === b[j] ? best[i + 1]![j + 1]! + 1 : Math.max(best[i + 1]![j]!, best[i]![j + 1]!);
    }
  }
  const found: Line[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      found.push({ sign: " ", text: a[i++]! });
      j++;
    } else if (i < a.length && (j === b.length || best[i + 1]![j]! >= best[i]![j + 1]!)) {
      found.push({ sign: "−", text: a[i++]! });
    } else found.push({ sign: "+", text: b[j++]! });
  }
  return found;
}

const AROUND = 3;

/** Only lines near a change; null stands for those left out. */
export function near(all: readonly Line[]): (Line | null)[] {
  const isNear = all.map((_, at) => all.slice(Math.max(0, at - AROUND), at + AROUND + 1).some((line) => line.sign !== " "));
  const found: (Line | null)[] = [];
  all.forEach((line, at) => {
    if (isNear[at]) found.push(line);
    else if (found.at(-1) !== null) found.push(null);
  });
  return found;
}

const WORDS = { "+": "added", "−": "removed", " ": "" } as const;

export function TextDiff({ before, after, label }: { before: string; after: string; label: string }) {
  const shown = near(lines(before, after));
  if (shown.every((line) => line === null)) return <p class="soft">The texts are the same.</p>;
  return (
    <pre class="text-diff" tabIndex={0} aria-label={label}>
      {shown.map((line, at) =>
        line === null ? (
          <span key={at} class="gap">
            ⋯
          </span>
        ) : (
          <span key={at} class={line.sign === "+" ? "came" : line.sign === "−" ? "went" : ""}>
            <span aria-hidden="true">{line.sign} </span>
            {line.sign !== " " && <span class="unseen">{WORDS[line.sign]}: </span>}
            {line.text}
          </span>
        ),
      )}
    </pre>
  );
}
