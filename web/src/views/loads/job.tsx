/** One load job: how far it is, what it came to, and a way to end it. */
import { useState } from "preact/hooks";
import { ask } from "../../api/ask";
import type { Problem } from "../../api/problem";
import { go, place } from "../../app/route";
import { here } from "../../app/session";
import { tell } from "../../app/toasts";
import { commitAddress } from "../../parts/commits";
import { Trouble } from "../../parts/states";
import { ago, atSecond, bytes, counted, fromMicros, number } from "../../parts/times";
import { RejectedRows } from "./rejected";
import { isOver, type Job, type JobState } from "./shapes";

const STATES: Readonly<Record<JobState, { tone: string; text: string }>> = {
  uploading: { tone: "warn", text: "waits for its upload" },
  queued: { tone: "warn", text: "waits for its turn" },
  running: { tone: "warn", text: "runs" },
  succeeded: { tone: "good", text: "done" },
  failed: { tone: "bad", text: "failed" },
  cancelled: { tone: "", text: "cancelled" },
};

const numberIn = (job: Job, name: string): number => {
  const found = job.report?.[name];
  return typeof found === "number" ? found : 0;
};

export function JobCard({ job, again }: { job: Job; again: () => void }) {
  const [problem, setProblem] = useState<Problem | null>(null);
  const [isBusy, setBusy] = useState(false);
  const isShown = place.value.params.job === job.id;
  const state = STATES[job.state];
  const rejected = numberIn(job, "rejected");
  const commit = job.result?.commit?.graph_commit_id ?? null;
  const began = fromMicros(job.created_at);
  const cancel = async (): Promise<void> => {
    setBusy(true);
    const answer = await ask<Job>(`${here()}/load/jobs/${job.id}`, { method: "DELETE" });
    setBusy(false);
    setProblem(answer.ok ? null : answer.problem);
    if (answer.ok) tell("The load ends at its next step.");
    again();
  };
  return (
    <li class="card" aria-label={`Load job ${job.id}`}>
      <header class="row">
        <span class={`chip ${state.tone}`}>{state.text}</span>
        <strong>
          {job.mode} into {job.branch}
          {job.dry_run && " (only tried)"}
        </strong>
        <span class="soft grow" title={atSecond(began)}>
          {job.actor_id ?? "somebody"}, {ago(began)}
        </span>
        {!isOver(job) && (
          <button type="button" disabled={isBusy || job.cancel_requested} onClick={() => void cancel()}>
            {job.cancel_requested ? "Ending …" : "Cancel"}
          </button>
        )}
      </header>
      <Progress job={job} />
      {job.state === "succeeded" && (
        <p>
          {counted(numberIn(job, "total_entities"), "row")} {job.dry_run ? "would be" : "were"} loaded
          {numberIn(job, "read") > 0 && <> of {number(numberIn(job, "read"))} read</>}
          {rejected > 0 && <>, {number(rejected)} set aside</>}.{" "}
          {commit !== null && <a href={commitAddress(commit)}>See the commit</a>}
        </p>
      )}
      {job.error && (
        <div class="loads-error">
          <p>{job.error.error}</p>
          {job.error.hint && <p class="soft">{job.error.hint}</p>}
          <p class="soft small">Nothing was loaded.</p>
        </div>
      )}
      {problem !== null && <Trouble problem={problem} again={() => void cancel()} />}
      {job.links.rejected && rejected > 0 && (
        <>
          <p>
            <button
              type="button"
              aria-expanded={isShown}
              onClick={() => go({ set: { job: isShown ? null : job.id } }, true)}
            >
              {isShown ? "Hide" : "Show"} the {counted(rejected, "row")} that {rejected === 1 ? "was" : "were"} set aside
            </button>
          </p>
          {isShown && <RejectedRows path={job.links.rejected} job={job.id} />}
        </>
      )}
    </li>
  );
}

function Progress({ job }: { job: Job }) {
  if (job.state === "uploading" && job.upload) {
    return (
      <p class="soft">
        {job.upload.name}: {bytes(job.upload.received_bytes)} in {counted(job.upload.parts.length, "part")} so far.
      </p>
    );
  }
  if (job.state !== "running" || !job.progress) return null;
  const { phase, done, total } = job.progress;
  return (
    <label class="loads-progress">
      <span class="soft">
        {phase}: {number(done)}
        {total > 0 && ` of ${number(total)}`}
      </span>
      {total > 0 ? <progress value={done} max={total} /> : <progress />}
    </label>
  );
}
