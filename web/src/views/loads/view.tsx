/** Loads: what runs, what came in with each, and which rows were set aside. */
import { useEffect } from "preact/hooks";
import { ask } from "../../api/ask";
import { useAsked } from "../../api/asked";
import { branch } from "../../app/route";
import { callHere, graph, head, here, look } from "../../app/session";
import { commitAddress, commitTitle, When, Who } from "../../parts/commits";
import { Empty, Trouble, Waiting } from "../../parts/states";
import { counted, number } from "../../parts/times";
import { Dot } from "../../parts/types";
import { JobCard } from "./job";
import { isOver, type Job, type PastLoad } from "./shapes";
import "./style.css";

const POLL_MS = 1_000;
const SHOWN = 50;

export default function LoadsView() {
  const jobs = useAsked<{ jobs: readonly Job[] }>(`${graph.value}|jobs`, (signal) =>
    ask<{ jobs: readonly Job[] }>(`${here()}/load/jobs`, { signal }),
  );
  const loads = useAsked<readonly PastLoad[]>(`${graph.value}|${branch.value}|${head.value}|loads`, (signal) =>
    callHere<readonly PastLoad[]>("loads", { branch: branch.peek(), limit: SHOWN }, signal),
  );
  const running = (jobs.value?.jobs ?? []).filter((job) => !isOver(job)).length;
  useEffect(() => {
    if (running === 0) return;
    const timer = setInterval(jobs.again, POLL_MS);
    return () => {
      clearInterval(timer);
      // One of them is over: its commit is new.
      void look();
    };
  }, [running]);
  const isEmpty = jobs.value?.jobs.length === 0 && loads.value?.length === 0;
  return (
    <div class="pad loads">
      <h1>Loads</h1>
      {isEmpty && (
        <Empty icon="loads" title="Nothing was loaded yet">
          <p>
            Load a file into {branch.value}: <code>omnigraph load --data people.jsonl --mode merge</code>, with <code>--server</code> and
            the address of this server.
          </p>
        </Empty>
      )}
      {jobs.problem !== null && <Trouble problem={jobs.problem} again={jobs.again} />}
      {jobs.value !== null && jobs.value.jobs.length > 0 && (
        <section aria-labelledby="loads-jobs">
          <h2 id="loads-jobs">Load jobs{running > 0 && <span class="soft">: {counted(running, "job")} not over</span>}</h2>
          <p class="soft small">Jobs that you began on this server. They are forgotten a week after their end.</p>
          <ul class="loads-list">
            {jobs.value.jobs.map((job) => (
              <JobCard key={job.id} job={job} again={jobs.again} />
            ))}
          </ul>
        </section>
      )}
      {loads.problem !== null && <Trouble problem={loads.problem} again={loads.again} />}
      {loads.value === null && loads.problem === null && <Waiting />}
      {loads.value !== null && loads.value.length > 0 && (
        <section aria-labelledby="loads-past">
          <h2 id="loads-past">What was loaded into {branch.value}</h2>
          <ul class="loads-list">
            {loads.value.map((load) => (
              <Report key={load.commit.graph_commit_id} load={load} />
            ))}
          </ul>
          {loads.value.length === SHOWN && <p class="soft small">These are the newest {SHOWN}.</p>}
        </section>
      )}
    </div>
  );
}

function Report({ load }: { load: PastLoad }) {
  const { commit } = load;
  return (
    <li class="card">
      <header class="row">
        <h3 class="grow">
          <a href={commitAddress(commit.graph_commit_id)}>{commitTitle(commit)}</a>
        </h3>
        <span class="soft">
          <Who commit={commit} />, <When commit={commit} />
        </span>
      </header>
      {load.report && (
        <p>
          {counted(load.report.read, "row")} read in the mode {load.report.mode}, {number(load.report.loaded)} loaded
          {load.report.superseded > 0 && <>, {number(load.report.superseded)} replaced by later ones</>}
          {load.report.rejected > 0 && <>, {number(load.report.rejected)} set aside</>}.
        </p>
      )}
      {load.report && load.report.rules.length > 0 && (
        <ul class="row loads-rules" aria-label="Rules that rows broke">
          {load.report.rules.map((rule) => (
            <li key={`${rule.kind} ${rule.type_name} ${rule.property}`} class="chip warn">
              {number(rule.count)} {rule.kind}
              {rule.type_name !== null && ` of ${[rule.type_name, rule.property].filter(Boolean).join(".")}`}
            </li>
          ))}
        </ul>
      )}
      {load.tables.length === 0 ? (
        <p class="soft">It changed nothing.</p>
      ) : (
        <div class="loads-scroll" tabIndex={0} role="region" aria-label={`Rows of ${commitTitle(commit)}`}>
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">Type</th>
                <th scope="col" class="number">
                  new
                </th>
                <th scope="col" class="number">
                  changed
                </th>
                <th scope="col" class="number">
                  gone
                </th>
                <th scope="col" class="number">
                  then there
                </th>
              </tr>
            </thead>
            <tbody>
              {load.tables.map((table) => (
                <tr key={`${table.kind} ${table.type_name}`}>
                  <th scope="row">
                    <span class="row tight loads-type">
                      <Dot type={table.type_name} /> {table.type_name}
                    </span>
                  </th>
                  <Count value={table.inserted} />
                  <Count value={table.updated} />
                  <Count value={table.deleted} />
                  <Count value={table.row_count} />
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </li>
  );
}

const Count = ({ value }: { value: number | null }) => (
  <td class="number">{value === null ? <span class="soft">hidden</span> : number(value)}</td>
);
