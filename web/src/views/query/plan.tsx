/** How the query is run: its steps as a tree, with rows and times where it was measured. */
import { signal } from "@preact/signals";
import { useAsked } from "../../api/asked";
import type { Plan, PlanStep } from "../../api/types";
import { callHere, standing } from "../../app/session";
import { Trouble, Waiting } from "../../parts/states";
import { bytes, milliseconds, number } from "../../parts/times";
import { bodyOf, type Run } from "./state";

const isMeasured = signal(true);

/** A guess that is off by so much is worth a look. */
const FAR_OFF = 10;

const isFarOff = (step: PlanStep): boolean => {
  if (step.rows === null || step.rows_expected === null) return false;
  const [small, large] = [Math.min(step.rows, step.rows_expected), Math.max(step.rows, step.rows_expected)];
  return large > 100 && large > FAR_OFF * Math.max(small, 1);
};

export function PlanView({ run }: { run: Run }) {
  const key = `${standing.value}|plan|${isMeasured.value}|${JSON.stringify(run)}`;
  const asked = useAsked<Plan>(key, (signal) => callHere("explain", { ...bodyOf(run), analyze: isMeasured.value }, signal));
  const plan = asked.value;
  const longest = Math.max(...(plan?.steps.map((step) => step.ms ?? 0) ?? [0]), 0.001);
  return (
    <div class="results-body">
      <div class="plan-head row">
        <label class="row">
          <input type="checkbox" checked={isMeasured.value} onChange={(event) => (isMeasured.value = event.currentTarget.checked)} />
          Measure it (runs the query)
        </label>
        {asked.isAsking && <span class="soft">asking …</span>}
      </div>
      {asked.problem !== null ? (
        <Trouble problem={asked.problem} again={asked.again} />
      ) : plan === null ? (
        <Waiting what="Asking for the plan" />
      ) : (
        <div class="plan" tabIndex={0} role="region" aria-label="Plan">
          <table class="plain">
            <caption class="unseen">Steps of the plan, innermost first</caption>
            <thead>
              <tr>
                <th scope="col">Step</th>
                <th scope="col" class="number">
                  Rows expected
                </th>
                {plan.is_analyzed && (
                  <>
                    <th scope="col" class="number">
                      Rows
                    </th>
                    <th scope="col" class="number">
                      Memory
                    </th>
                    <th scope="col" class="number">
                      Time
                    </th>
                    <th scope="col" class="wide-only">
                      <span class="unseen">Share of the time</span>
                    </th>
                  </>
                )}
              </tr>
            </thead>
            <tbody>
              {plan.steps.map((step, at) => (
                <tr key={at}>
                  <td>
                    <div class="plan-step" style={{ paddingLeft: `${step.depth * 18}px` }}>
                      {step.depth > 0 && (
                        <span class="soft" aria-hidden="true">
                          └
                        </span>
                      )}
                      <span>
                        <strong>{step.operator}</strong> <code>{step.text.startsWith(step.operator) ? step.text.slice(step.operator.length).trim() : step.text}</code>
                        {step.notes.map((note) => (
                          <div key={note} class="soft small">
                            {note}
                          </div>
                        ))}
                      </span>
                    </div>
                  </td>
                  <td class="number">{step.rows_expected === null ? "" : number(Math.round(step.rows_expected))}</td>
                  {plan.is_analyzed && (
                    <>
                      <td class="number">
                        {step.rows === null ? "" : number(step.rows)}
                        {isFarOff(step) && (
                          <span class="chip warn" title="The guess was far off: optimize brings the statistics up to date.">
                            far off
                          </span>
                        )}
                      </td>
                      <td class="number">{step.bytes === null ? "" : bytes(step.bytes)}</td>
                      <td class="number">{step.ms === null ? "" : milliseconds(step.ms)}</td>
                      <td class="wide-only plan-share" aria-hidden="true">
                        <span style={{ width: `${Math.max(1, (100 * (step.ms ?? 0)) / longest)}%` }} />
                      </td>
                    </>
                  )}
                </tr>
              ))}
            </tbody>
          </table>
          {plan.is_analyzed && (
            <p class="soft small plan-sum">
              {milliseconds(plan.steps.reduce((sum, step) => sum + (step.ms ?? 0), 0))} in all steps together.
            </p>
          )}
        </div>
      )}
    </div>
  );
}
