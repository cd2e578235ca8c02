/** How an entity came to be what it is: its commits, newest first, with what each of them changed. */
import { useEffect, useState } from "preact/hooks";
import type { EntityHistory } from "../../api/types";
import type { Problem } from "../../api/problem";
import { epoch } from "../../api/link";
import { address, moment } from "../../app/route";
import { callHere, standing, target } from "../../app/session";
import { BeforeAfter, OpChip } from "../change";
import { Trouble, Waiting } from "../states";
import { ago, atMinute, fromText } from "../times";

interface Props {
  readonly kind: "node" | "edge";
  readonly type: string;
  readonly id: string;
  readonly isOpen: boolean;
}

type Entry = EntityHistory["entries"][number];

const PAGE = 20;
const ENDS = {
  gone: "What was before this has been cleaned up.",
  hidden: "What was before this is not shown to you.",
} as const;

export function History({ kind, type, id, isOpen }: Props) {
  const [open, setOpen] = useState(isOpen);
  return (
    <>
      <h3>
        <button type="button" class="quiet fold" aria-expanded={open} onClick={() => setOpen(!open)}>
          <span aria-hidden="true">{open ? "▾" : "▸"}</span> History
        </button>
      </h3>
      {open && <Line kind={kind} type={type} id={id} />}
    </>
  );
}

function Line({ kind, type, id }: Omit<Props, "isOpen">) {
  const [entries, setEntries] = useState<readonly Entry[]>([]);
  const [last, setLast] = useState<EntityHistory | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isAsking, setIsAsking] = useState(true);
  const of = `${standing.value}|${epoch.value}`;
  const askFor = async (page: string | null, signal?: AbortSignal): Promise<void> => {
    setIsAsking(true);
    const body = { kind, type_name: type, entity_id: id, limit: PAGE, page_token: page, ...target.peek() };
    const answer = await callHere<EntityHistory>("entity_history", body, signal);
    if (signal?.aborted) return;
    setIsAsking(false);
    setProblem(answer.ok ? null : answer.problem);
    if (!answer.ok) return;
    setLast(answer.value);
    setEntries((before) => (page === null ? answer.value.entries : [...before, ...answer.value.entries]));
  };
  useEffect(() => {
    const abort = new AbortController();
    askFor(null, abort.signal).catch((error: unknown) => {
      if (!abort.signal.aborted) throw error;
    });
    return () => abort.abort();
  }, [of]);
  if (problem !== null) return <Trouble problem={problem} again={() => void askFor(null)} />;
  if (last === null) return <Waiting what="Reading its history" />;
  return (
    <>
      <ol class="timeline">
        {entries.map((entry) => (
          <li key={entry.commit.graph_commit_id}>
            <div class="row">
              <OpChip op={entry.op} />
              <a
                href={address({ set: { at: entry.commit.graph_commit_id } })}
                aria-current={moment.value === entry.commit.graph_commit_id ? "true" : undefined}
                title={`${atMinute(fromText(entry.commit.created_at))}. Look at this moment.`}
              >
                {ago(fromText(entry.commit.created_at))}
              </a>
              {entry.commit.actor_id !== null && <span class="soft">by {entry.commit.actor_id}</span>}
            </div>
            <p class="soft small">{entry.commit.message ?? entry.commit.kind}</p>
            {entry.op === "update" && (
              <ul class="plain-list">
                {entry.changes.map((change) => (
                  <li key={change.property}>
                    <span class="soft">{change.property}: </span>
                    <BeforeAfter before={change.before} after={change.after} />
                  </li>
                ))}
              </ul>
            )}
          </li>
        ))}
      </ol>
      {last.next_page_token !== null ? (
        <button type="button" disabled={isAsking} onClick={() => void askFor(last.next_page_token)}>
          {entries.length === 0 ? "Look further back" : "Earlier"}
        </button>
      ) : last.ends !== null ? (
        <p class="soft small">{ENDS[last.ends]}</p>
      ) : null}
    </>
  );
}
