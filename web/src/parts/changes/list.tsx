/** Changes, entity by entity and property by property. */
import { useEffect, useState } from "preact/hooks";
import type { Answer, Problem } from "../../api/problem";
import { shown } from "../../api/values";
import { BeforeAfter, OpChip } from "../change";
import { Trouble, Waiting } from "../states";
import { number } from "../times";
import { type Elsewhere, entityAddress, EntityLink, TypeChip } from "../types";
import type { Comparison, CountsByType, EntityChange } from "./shapes";
import { isComparable, TextDiff } from "./text_diff";
import "./style.css";

export const PAGE = 100;

export interface Pages {
  readonly changes: readonly EntityChange[];
  readonly counts: CountsByType | null;
  readonly hasMore: boolean;
  readonly problem: Problem | null;
  readonly isAsking: boolean;
  readonly more: () => void;
  readonly again: () => void;
}

interface State {
  readonly of: string | null;
  readonly changes: readonly EntityChange[];
  readonly counts: CountsByType | null;
  readonly next: string | null;
  readonly problem: Problem | null;
  readonly isAsking: boolean;
}

const EMPTY: State = { of: null, changes: [], counts: null, next: null, problem: null, isAsking: false };

/** Pages of a comparison, one after another. A key of null asks for nothing. */
export function usePages(
  key: string | null,
  question: (page: string | null, signal: AbortSignal) => Promise<Answer<Comparison>>,
): Pages {
  const [round, setRound] = useState(0);
  const of = key === null ? null : `${key}#${round}`;
  const [state, setState] = useState<State>(EMPTY);
  const [wanted, setWanted] = useState<{ of: string | null; page: string | null }>({ of: null, page: null });
  // A page of another question is none.
  const page = wanted.of === of ? wanted.page : null;
  useEffect(() => {
    if (of === null) return setState(EMPTY);
    const abort = new AbortController();
    setState((before) => ({ ...before, isAsking: true }));
    question(page, abort.signal)
      .then((answer) => {
        if (abort.signal.aborted) return;
        setState((before) => {
          const known = before.of === of ? before : EMPTY;
          if (!answer.ok) return { ...known, of, problem: answer.problem, isAsking: false };
          const { changes, counts, next_page_token: next } = answer.value;
          const all = page === null ? changes : [...known.changes, ...changes];
          return { of, changes: all, counts: counts ?? known.counts, next, problem: null, isAsking: false };
        });
      })
      .catch((error: unknown) => {
        if (!abort.signal.aborted) throw error;
      });
    return () => abort.abort();
  }, [of, page]);
  return {
    changes: state.changes,
    counts: state.counts,
    hasMore: state.next !== null,
    problem: state.problem,
    isAsking: state.isAsking || state.of !== of,
    more: () => setWanted({ of, page: state.next }),
    again: () => setRound((before) => before + 1),
  };
}

interface ListProps {
  readonly pages: Pages;
  readonly empty: string;
  /** Where entities are to be seen as they were, and as they became. */
  readonly before: Elsewhere;
  readonly after: Elsewhere;
}

export function ChangeList({ pages, empty, before, after }: ListProps) {
  const { changes, hasMore, problem, isAsking, more, again } = pages;
  if (problem !== null && changes.length === 0) return <Trouble problem={problem} again={again} />;
  if (changes.length === 0) return isAsking ? <Waiting what="Comparing" /> : <p class="soft">{empty}</p>;
  return (
    <>
      <ol class="changes-list">
        {changes.map((change) => (
          <OneChange
            key={`${change.kind} ${change.type_name} ${change.id}`}
            change={change}
            where={change.op === "delete" ? before : after}
          />
        ))}
      </ol>
      {problem !== null && <Trouble problem={problem} again={more} />}
      {hasMore && (
        <p class="row changes-more">
          <button type="button" disabled={isAsking} onClick={more}>
            {isAsking ? "Loading …" : `Show ${PAGE} more`}
          </button>
          <span class="soft">The first {number(changes.length)} are shown.</span>
        </p>
      )}
    </>
  );
}

const ends = (change: EntityChange): string => {
  const of = (name: string): unknown => {
    const found = change.properties.find((property) => property.property === name);
    return found?.after ?? found?.before;
  };
  return change.kind === "edge" && of("from") !== undefined ? `${String(of("from"))} → ${String(of("to"))}` : "";
};

function OneChange({ change, where }: { change: EntityChange; where: Elsewhere }) {
  const arrow = ends(change);
  const told = change.properties.filter(({ property }) => arrow === "" || (property !== "from" && property !== "to"));
  return (
    <li class={`changes-one ${change.op}`} tabIndex={-1} data-change>
      <header class="row">
        <OpChip op={change.op} />
        <TypeChip type={change.type_name} />
        {arrow === "" ? (
          <strong>
            <EntityLink type={change.type_name} id={change.id} kind={change.kind} where={where} />
          </strong>
        ) : (
          <strong>
            <a href={entityAddress(change.type_name, change.id, "edge", where)} title={change.id}>
              {arrow}
            </a>
          </strong>
        )}
      </header>
      {told.length > 0 && (
        <dl class="changes-properties">
          {told.map(({ property, before, after }) => (
            <div key={property}>
              <dt>{property}</dt>
              <dd>
                <Values before={before} after={after} name={property} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </li>
  );
}

const LONG = 500;
const isLines = (value: unknown): value is string => typeof value === "string" && value.includes("\n");

/** Texts of several lines are compared line by line; a long value is shown whole when somebody asks. */
function Values({ before, after, name }: { before: unknown; after: unknown; name: string }) {
  const [isWhole, setWhole] = useState(false);
  const isText = typeof before === "string" && typeof after === "string";
  if (isText && (isLines(before) || isLines(after)) && isComparable(before, after)) {
    return <TextDiff before={before} after={after} label={`Lines of ${name} before and after`} />;
  }
  const size = Math.max(shown(before).length, shown(after).length);
  if (isWhole || size <= LONG) return <BeforeAfter before={before} after={after} />;
  const cut = (value: unknown): unknown =>
    value === null || value === undefined ? value : shown(value).length > LONG ? `${shown(value).slice(0, LONG)} …` : value;
  return (
    <>
      <BeforeAfter before={cut(before)} after={cut(after)} />{" "}
      <button type="button" class="link" onClick={() => setWhole(true)}>
        Show all {number(size)} letters
      </button>
    </>
  );
}
