/** The commits with their lines. Only rows on the screen are drawn, so that many thousands stay quick. */
import { useEffect, useMemo, useRef } from "preact/hooks";
import { address, branch, moment } from "../../app/route";
import { commitTitle, When, Who } from "../../parts/commits";
import type { Log } from "../../parts/lineage";
import { useVirtual } from "../../parts/virtual";
import { drawn, type Line, type Row } from "./lanes";

const ROW = 44;
const LANE = 16;
const MOST_LANES = 12;
const DOT = 4.5;
/** More branches than these at one commit are told by their number. */
const MOST_HEADS = 3;

const colourOf = (number: number): string => `var(--type-${(number % 9) + 1})`;
const x = (lane: number): number => 12 + Math.min(lane, MOST_LANES) * LANE;

export function CommitGraph({ log, selected }: { log: Log; selected: string | null }) {
  const { rows, lanes } = useMemo(() => drawn(log), [log]);
  const box = useRef<HTMLDivElement>(null);
  const { items, scrollTo } = useVirtual(rows.length, ROW, box);
  useEffect(() => {
    const at = rows.findIndex((row) => row.commit.graph_commit_id === selected);
    if (at !== -1) scrollTo(at);
  }, [selected, rows]);
  const width = x(Math.min(lanes, MOST_LANES)) + 4;
  return (
    <div class="history-scroll" ref={box} tabIndex={0} role="region" aria-label="Commits, newest first">
      <ol class="history-rows" style={{ height: `${rows.length * ROW}px` }}>
        {items.map(({ index }) => (
          <OneRow
            key={rows[index]!.commit.graph_commit_id}
            row={rows[index]!}
            at={index}
            count={rows.length}
            width={width}
            isSelected={rows[index]!.commit.graph_commit_id === selected}
          />
        ))}
      </ol>
    </div>
  );
}

interface RowProps {
  readonly row: Row;
  readonly at: number;
  readonly count: number;
  readonly width: number;
  readonly isSelected: boolean;
}

function OneRow({ row, at, count, width, isSelected }: RowProps) {
  const { commit, heads } = row;
  return (
    <li style={{ top: `${at * ROW}px`, height: `${ROW}px` }} aria-setsize={count} aria-posinset={at + 1}>
      <a
        class="history-row"
        href={address({ set: { commit: commit.graph_commit_id } })}
        aria-current={isSelected ? "true" : undefined}
      >
        <svg width={width} height={ROW} aria-hidden="true">
          {row.lines.map((line, index) => (
            <path key={index} d={pathOf(line)} fill="none" stroke={colourOf(line.colour)} stroke-width="2" />
          ))}
          <circle
            cx={x(row.lane)}
            cy={ROW / 2}
            r={commit.merged_parent_commit_id === null ? DOT : DOT + 1}
            fill={commit.merged_parent_commit_id === null ? colourOf(row.colour) : "var(--sheet)"}
            stroke={colourOf(row.colour)}
            stroke-width="2"
          />
        </svg>
        <span class="history-text">
          <span class="history-title">
            {heads.slice(0, MOST_HEADS).map((name) => (
              <span key={name} class={`chip history-head ${name === branch.value ? "here" : ""}`} title={name}>
                {name}
              </span>
            ))}
            {heads.length > MOST_HEADS && (
              <span class="chip history-head" title={heads.slice(MOST_HEADS).join(", ")}>
                and {heads.length - MOST_HEADS} more
              </span>
            )}
            {commit.graph_commit_id === moment.value && <span class="chip warn">you look here</span>}
            <span class="history-message">{commitTitle(commit)}</span>
          </span>
          <span class="soft small">
            <Who commit={commit} />, <When commit={commit} />
            {commit.kind !== "mutation" && ` · ${commit.kind}`}
          </span>
        </span>
      </a>
    </li>
  );
}

function pathOf({ from, to, part }: Line): string {
  const [a, b, mid] = [x(from), x(to), ROW / 2];
  if (part === "past") return `M${a} 0V${ROW}`;
  if (part === "in") return a === b ? `M${a} 0V${mid}` : `M${a} 0C${a} ${mid * 0.7} ${b} ${mid * 0.4} ${b} ${mid}`;
  return a === b ? `M${a} ${mid}V${ROW}` : `M${a} ${mid}C${a} ${ROW * 0.8} ${b} ${ROW * 0.65} ${b} ${ROW}`;
}
