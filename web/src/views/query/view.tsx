/** Ask a question: the editor or a stored query on one side, its answer on the other. */
import { useEffect, useState } from "preact/hooks";
import { branch, go, moment } from "../../app/route";
import { useKeys } from "../../app/keys";
import { may, schema } from "../../app/session";
import { Dialog } from "../../parts/dialog";
import { Icon } from "../../parts/icons";
import { Editor } from "./editor";
import { Form } from "./form";
import { Results } from "./results";
import { samplesOf } from "./samples";
import { asking, change, current, isMutation, isRunning, isWide, lint, run, runLinked, runText, stop, stored, storedName, storedQuery } from "./state";
import "./style.css";

export default function QueryView() {
  useKeys([
    { keys: "mod+Enter", what: "Run the query", run: () => void run(), whileTyping: true },
    { keys: "e", what: "Write in the editor", run: () => document.querySelector<HTMLElement>("[data-editor]")?.focus() },
    { keys: "1", what: "Answer as a table", run: () => go({ set: { as: null } }, true) },
    { keys: "2", what: "Answer as a graph", run: () => go({ set: { as: "graph" } }, true) },
    { keys: "3", what: "Answer as JSON", run: () => go({ set: { as: "json" } }, true) },
    { keys: "4", what: "Plan of the query", run: () => go({ set: { as: "plan" } }, true) },
    { keys: "w", what: "The answer alone, or beside the query", run: () => go({ set: { wide: isWide.peek() ? null : "1" } }, true) },
  ]);
  const isReady = schema.value !== null;
  useEffect(() => {
    if (isReady) void runLinked();
  }, [isReady]);
  const query = storedQuery.value;
  return (
    <div class={isWide.value ? "query wide" : "query"}>
      <section class="query-ask" aria-label="Question">
        <h1 class="unseen">Query</h1>
        {storedName.value === null ? (
          <div class="query-editor">
            <Editor />
          </div>
        ) : (
          <div class="card query-stored">
            <h2>{storedName.value}</h2>
            <p class="soft">{query === null ? "There is no such stored query here." : (query.description ?? "A stored query of this server.")}</p>
            <button type="button" class="link" onClick={() => go({ set: { stored: null, p: null, run: null } })}>
              Back to the editor
            </button>
          </div>
        )}
        <Form />
        <RunRow />
        <Lists />
      </section>
      <Results />
      {asking.value !== null && <Confirm />}
    </div>
  );
}

function RunRow() {
  const mutates = isMutation.value;
  const errors = storedName.value === null ? (lint.value?.findings.filter((finding) => finding.severity === "error").length ?? 0) : 0;
  const several = storedName.value === null && (lint.value?.queries.length ?? 0) > 1;
  const isDenied = mutates && !may("change");
  return (
    <div class="row query-run">
      {isRunning.value && !mutates ? (
        <button type="button" onClick={stop}>
          <Icon name="close" size={16} /> Stop
        </button>
      ) : (
        <button type="button" class="main" disabled={isRunning.value || isDenied} title="Ctrl Enter" onClick={() => void run()}>
          <Icon name="play" size={15} />
          {mutates ? `Change ${branch.value}` : "Run"}
          {several && current.value !== null ? ` ${current.value.name}` : ""}
        </button>
      )}
      <span class="soft small grow" role="status">
        {isDenied
          ? `You may not change ${branch.value}.`
          : errors > 0
            ? `${errors === 1 ? "1 mistake is" : `${errors} mistakes are`} marked in the text.`
            : several
              ? "The query at the cursor runs."
              : ""}
      </span>
    </div>
  );
}

function Lists() {
  const samples = schema.value === null ? [] : samplesOf(schema.value);
  return (
    <div class="query-lists">
      {stored.value.length > 0 && (
        <section>
          <h2>Stored queries</h2>
          <ul class="plain-list">
            {stored.value.map((query) => (
              <li key={query.name}>
                <button
                  type="button"
                  class="quiet stored"
                  aria-current={query.name === storedName.value ? "true" : undefined}
                  title={query.description ?? undefined}
                  onClick={() => {
                    go({ set: { stored: query.name, q: null, n: null, run: null } });
                    if (query.params.length === 0 && !query.mutation) void run();
                  }}
                >
                  <span>{query.name}</span>
                  {query.mutation && <span class="chip warn">changes</span>}
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
      {samples.length > 0 && (
        <section>
          <h2>To begin with</h2>
          <ul class="plain-list">
            {samples.map((sample) => (
              <li key={sample.title}>
                <button type="button" class="quiet stored" onClick={() => runText(sample.text)}>
                  {sample.title}
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

function Confirm() {
  const [message, setMessage] = useState("");
  const isStored = asking.value?.stored !== null;
  return (
    <Dialog title={`This changes ${branch.value}`} onClose={() => (asking.value = null)}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void change(message);
        }}
      >
        <p>The query changes the graph, as one commit on {branch.value}. {moment.value === null ? "" : "Go back to now first."}</p>
        {!isStored && (
          <label class="field">
            <span>Message of the commit (may be empty)</span>
            <input type="text" autofocus value={message} onInput={(event) => setMessage(event.currentTarget.value)} />
          </label>
        )}
        <p class="row end">
          <button type="button" onClick={() => (asking.value = null)}>
            Leave it
          </button>
          <button type="submit" class="main" autofocus={isStored}>
            Change {branch.value}
          </button>
        </p>
      </form>
    </Dialog>
  );
}

