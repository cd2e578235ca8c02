/** Where each commit is drawn, and which lines run past it. One walk from the newest to the oldest: linear. */
import type { Commit } from "../../api/types";
import type { Log } from "../../parts/lineage";

export interface Line {
  /** Lanes; a line begins at the top of the row or at the commit, and ends at the commit or at the bottom. */
  readonly from: number;
  readonly to: number;
  readonly part: "past" | "in" | "out";
  readonly colour: number;
}

export interface Row {
  readonly commit: Commit;
  readonly lane: number;
  readonly colour: number;
  readonly lines: readonly Line[];
  /** Branches whose newest commit it is. */
  readonly heads: readonly string[];
}

export interface Drawn {
  readonly rows: readonly Row[];
  readonly lanes: number;
}

interface Lane {
  readonly wants: string;
  readonly colour: number;
}

export function drawn(log: Log): Drawn {
  const headsOf = new Map<string, string[]>();
  for (const [name, id] of Object.entries(log.heads)) headsOf.set(id, [...(headsOf.get(id) ?? []), name]);
  const lanes: (Lane | null)[] = [];
  let colours = 0;
  let most = 1;
  const free = (): number => {
    const at = lanes.indexOf(null);
    return at === -1 ? lanes.length : at;
  };
  // Main stays on the left, whichever branch has the newest commit.
  if (log.heads.main !== undefined) lanes[0] = { wants: log.heads.main, colour: colours++ };
  // Its line begins at its head, or at the newest commit that leads there.
  let isMainBegun = log.heads.main === undefined;
  const rows = log.commits.map((commit): Row => {
    const id = commit.graph_commit_id;
    const wanting = lanes.flatMap((lane, at) => (lane?.wants === id ? [at] : []));
    const isTip = wanting.length === 0;
    const lane = wanting[0] ?? free();
    const colour = lanes[lane]?.colour ?? colours++;
    const lines: Line[] = [];
    lanes.forEach((other, at) => {
      if (other === null || other === undefined) return;
      const isDrawn = at !== 0 || isMainBegun;
      if (isDrawn && other.wants !== id) lines.push({ from: at, to: at, part: "past", colour: other.colour });
      else if (isDrawn && !isTip) lines.push({ from: at, to: lane, part: "in", colour: other.colour });
      if (other.wants === id) lanes[at] = null;
    });
    if (id === log.heads.main) isMainBegun = true;
    const go = (parent: string | null, wish: number | null): void => {
      if (parent === null) return;
      const there = lanes.findIndex((other) => other?.wants === parent);
      // A merged branch keeps the line it has; else it gets one of its own.
      if (there !== -1 && wish === null) {
        if (there === 0) isMainBegun = true;
        lines.push({ from: lane, to: there, part: "out", colour: lanes[there]!.colour });
        return;
      }
      const to = wish ?? free();
      const own = wish === null ? colours++ : colour;
      lanes[to] = { wants: parent, colour: own };
      lines.push({ from: lane, to, part: "out", colour: own });
    };
    go(commit.parent_commit_id, lane);
    go(commit.merged_parent_commit_id, null);
    most = Math.max(most, lanes.length);
    while (lanes.length > 0 && lanes.at(-1) === null) lanes.pop();
    return { commit, lane, colour, lines, heads: headsOf.get(id) ?? [] };
  });
  return { rows, lanes: most };
}
