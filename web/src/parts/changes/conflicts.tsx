/** Conflicts side by side, with a choice for each and for all. */
import { counted, number } from "../times";
import { type Elsewhere, EntityLink, TypeChip } from "../types";
import { apart, isSame } from "../../api/values";
import { type Draft, isOneSided, nameOf, takeOf } from "./choices";
import type { Conflict, Side, Take } from "./shapes";
import "./style.css";

const KINDS: Readonly<Record<string, string>> = {
  divergent_insert: "Both made this row, and differently",
  divergent_update: "Both changed this row, and differently",
  delete_vs_update: "One deleted this row, the other changed it",
  orphan_edge: "An edge needs a node that the other side deleted",
  unique_violation: "Two entities claim one value",
  cardinality_violation: "There are too many or too few edges",
  value_constraint_violation: "It breaks a rule of the newer schema",
};

const SIDES: readonly Side[] = ["base", "ours", "theirs"];

interface Props {
  readonly conflicts: readonly Conflict[];
  readonly more: number;
  /** Those that are left with the choices. */
  readonly left: readonly Conflict[];
  /** How many were there before any choice: later ones came up by choices. */
  readonly firstCount: number;
  readonly draft: Draft;
  /** The choices have been used: they are shown, and no longer made. */
  readonly isDone?: boolean;
  readonly names: Readonly<Record<Side, string>>;
  /** Where the entities of each side are looked at. */
  readonly where: Readonly<Record<Take, Elsewhere>>;
  readonly choose: (choice: Pick<Draft, "takes" | "all">) => void;
}

/** Those whose values alone don't say what is wrong. */
const NEEDS_WORDS: ReadonlySet<string> = new Set([
  "orphan_edge",
  "unique_violation",
  "cardinality_violation",
  "value_constraint_violation",
]);

export function Conflicts({ conflicts, more, left, firstCount, draft, isDone = false, names, where, choose }: Props) {
  const open = new Set(left.map(nameOf));
  const isTaken = (conflict: Conflict): boolean => takeOf(draft, conflict) !== undefined;
  const settled = conflicts.filter((conflict) => isTaken(conflict) && !open.has(nameOf(conflict))).length;
  const all = (take: Take): void => choose({ takes: {}, all: take });
  const one = (chosen: Conflict, take: Take): void => {
    const takes: Record<string, Take> = { ...draft.takes };
    for (const conflict of conflicts) {
      const before = takeOf(draft, conflict);
      if (before !== undefined) takes[nameOf(conflict)] = before;
    }
    choose({ takes: { ...takes, [nameOf(chosen)]: take }, all: null });
  };
  return (
    <>
      <div class="row conflicts-all">
        <span class="grow" aria-live="polite">
          {settled} of {counted(conflicts.length, "conflict")} settled.
        </span>
        <span class="soft">Take for all:</span>
        <button type="button" disabled={isDone} onClick={() => all("ours")}>
          {names.ours}
        </button>
        <button type="button" disabled={isDone} onClick={() => all("theirs")}>
          {names.theirs}
        </button>
        <button type="button" class="quiet" disabled={isDone || !conflicts.some(isTaken)} onClick={() => choose({ takes: {}, all: null })}>
          None
        </button>
      </div>
      {more > 0 && (
        <p class="soft">
          {number(more)} more are not listed: there are too many. They can be settled by taking one side for all.
          {draft.all !== null && ` You take ${names[draft.all]} for all of them.`}
        </p>
      )}
      <ol class="conflicts-list">
        {conflicts.map((conflict, at) => (
          <OneConflict
            key={nameOf(conflict)}
            conflict={conflict}
            isLater={at >= firstCount}
            take={takeOf(draft, conflict)}
            isClash={isTaken(conflict) && open.has(nameOf(conflict))}
            isDone={isDone}
            names={names}
            where={where[conflict.absent.includes("theirs") ? "ours" : "theirs"]}
            choose={(take) => one(conflict, take)}
          />
        ))}
      </ol>
    </>
  );
}

interface OneProps {
  readonly conflict: Conflict;
  readonly isLater: boolean;
  readonly take: Take | undefined;
  /** Whether a choice was made that does not settle it. */
  readonly isClash: boolean;
  readonly isDone: boolean;
  readonly names: Readonly<Record<Side, string>>;
  readonly where: Elsewhere;
  readonly choose: (take: Take) => void;
}

function OneConflict({ conflict, isLater, take, isClash, isDone, names, where, choose }: OneProps) {
  const name = nameOf(conflict);
  const isOpen = take === undefined || isClash;
  return (
    <li class={`conflicts-one ${isOpen ? "open" : "settled"}`} tabIndex={-1} data-conflict={isOpen ? "open" : take}>
      <header class="row">
        <span class={`chip ${isOpen ? "bad" : "good"}`}>{isOpen ? "open" : "settled"}</span>
        <TypeChip type={conflict.type_name} />
        <strong>
          <EntityLink type={conflict.type_name} id={conflict.entity_id} kind={conflict.entity_kind} where={where} />
        </strong>
        {conflict.property !== null && <code>{conflict.property}</code>}
        <span class="soft">{KINDS[conflict.kind] ?? conflict.kind}</span>
      </header>
      {NEEDS_WORDS.has(conflict.kind) && <p class="small conflicts-words">{conflict.message}.</p>}
      {isLater && <p class="small soft">Your choices brought this up.</p>}
      {isClash && <p class="small">This choice goes against another of yours. Take the other side, or change that one.</p>}
      <fieldset class="conflicts-sides">
        <legend class="unseen">{conflict.message}</legend>
        <div class="conflicts-side base">
          <span class="small soft">{names.base}</span>
          <SideValue conflict={conflict} side="base" />
        </div>
        {(["ours", "theirs"] as const).map((side) => (
          <label key={side} class={`conflicts-side ${take === side ? "taken" : ""}`}>
            <span class="row tight">
              <input
                type="radio"
                name={name}
                value={side}
                checked={take === side}
                disabled={isDone || (side === "theirs" && isOneSided(conflict))}
                onChange={() => choose(side)}
              />
              <span class="small">{names[side]}</span>
            </span>
            <SideValue conflict={conflict} side={side} />
          </label>
        ))}
      </fieldset>
    </li>
  );
}

function SideValue({ conflict, side }: { conflict: Conflict; side: Side }) {
  if (conflict.absent.includes(side)) return <span class="conflicts-value none">not there</span>;
  const value = conflict[side];
  if (value === null) return <span class="conflicts-value none">nothing</span>;
  if (value === "") return <span class="conflicts-value none">empty text</span>;
  if (typeof value !== "object" || Array.isArray(value)) {
    return <span class={`conflicts-value ${isOther(conflict, side) ? "other" : ""}`}><Text text={apart(value, SIDES.map((each) => conflict[each]))} /></span>;
  }
  // A whole row: what differs from the others stands out.
  const row = value as Readonly<Record<string, unknown>>;
  return (
    <dl class="conflicts-row">
      {Object.entries(row)
        .filter(([, member]) => member !== null)
        .map(([property, member]) => (
          <div key={property} class={differs(conflict, property) ? "other" : ""}>
            <dt>{property}</dt>
            <dd>
              <Text text={apart(member, members(conflict, property))} />
            </dd>
          </div>
        ))}
    </dl>
  );
}

const LONG = 600;

/** A long text scrolls in a place of its own: the sides stay in sight of each other. */
function Text({ text }: { text: string }) {
  if (text.length <= LONG) return <>{text}</>;
  return (
    <span class="conflicts-long" tabIndex={0} role="group" aria-label={`A value of ${number(text.length)} letters`}>
      {text}
    </span>
  );
}

const isOther = (conflict: Conflict, side: Side): boolean =>
  side !== "base" && !isSame(conflict[side], conflict.base);

/** What the rows of all sides have at a property. */
const members = (conflict: Conflict, property: string): readonly unknown[] =>
  SIDES.map((side) => conflict[side])
    .filter((row) => typeof row === "object" && row !== null)
    .map((row) => (row as Record<string, unknown>)[property]);

function differs(conflict: Conflict, property: string): boolean {
  const [first, ...others] = members(conflict, property);
  return others.some((other) => !isSame(first, other));
}
