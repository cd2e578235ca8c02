/** Rows that a load set aside: each with where it came from and what is against it. */
import { useState } from "preact/hooks";
import { askText } from "../../api/ask";
import { useAsked } from "../../api/asked";
import { jsonText, parse } from "../../api/values";
import { save } from "../../parts/clipboard";
import { Trouble, Waiting } from "../../parts/states";
import { number } from "../../parts/times";
import type { Rejected } from "./shapes";

const PAGE = 100;

function rowsOf(text: string): Rejected[] {
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => parse(line) as Rejected)
    .sort((a, b) => (a.file ?? "").localeCompare(b.file ?? "") || (a.line ?? 0) - (b.line ?? 0));
}

const rowText = (row: unknown): string => (typeof row === "string" ? row : jsonText(row).replaceAll(/\n */g, " "));

export function RejectedRows({ path, job }: { path: string; job: string }) {
  const [kind, setKind] = useState("");
  const [count, setCount] = useState(PAGE);
  const asked = useAsked<string>(`${path}`, (signal) => askText(path, { signal }));
  if (asked.value === null) {
    return asked.problem === null ? <Waiting what="Reading the rows" /> : <Trouble problem={asked.problem} again={asked.again} />;
  }
  const all = rowsOf(asked.value);
  const kinds = [...new Set(all.flatMap((row) => row.reasons.map((reason) => reason.kind)))].sort();
  const rows = kind === "" ? all : all.filter((row) => row.reasons.some((reason) => reason.kind === kind));
  return (
    <div class="loads-rejected">
      <div class="row">
        <label class="row tight">
          <span class="soft">Reason</span>
          <select value={kind} onChange={(event) => setKind(event.currentTarget.value)}>
            <option value="">all</option>
            {kinds.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <span class="grow" />
        <button type="button" onClick={() => save(asked.value ?? "", `rejected-${job}.jsonl`, "application/x-ndjson")}>
          Save as a file
        </button>
      </div>
      <div class="loads-scroll" tabIndex={0} role="region" aria-label="Rows that were set aside">
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Where</th>
              <th scope="col">What</th>
              <th scope="col">Why</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, count).map((row, at) => (
              <tr key={at}>
                <td>
                  {row.file?.split("/").at(-1)}
                  {row.line !== undefined && <span class="soft">, line {number(row.line)}</span>}
                </td>
                <td>
                  {row.type ?? <span class="soft">no type</span>} {row.id}
                  <code class="loads-row">{rowText(row.row)}</code>
                </td>
                <td>
                  {row.reasons.map((reason) => (
                    <p key={reason.message}>{reason.message}</p>
                  ))}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > count && (
        <p>
          <button type="button" onClick={() => setCount(count + PAGE)}>
            Show {PAGE} more of {number(rows.length)}
          </button>
        </p>
      )}
      <p class="soft small">Mend these rows in the saved file and load them again with the mode merge.</p>
    </div>
  );
}
