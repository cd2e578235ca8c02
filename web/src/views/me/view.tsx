/** Who we are to the server, and what we may do. */
import { forgetToken, token, tokenWanted } from "../../api/link";
import { address } from "../../app/route";
import { graph, me, rights } from "../../app/session";
import type { BranchRights } from "../../api/types";
import { Waiting } from "../../parts/states";
import "./style.css";

const STATES: Readonly<Record<string, { title: string; text: string }>> = {
  open: { title: "Open to anyone", text: "The server asks for no token. Everybody who reaches it may do everything." },
  personal: { title: "Yours alone", text: "The server runs for you, and takes only the token that it was opened with." },
  default_deny: { title: "Tokens, no policy", text: "Everybody with a token may read, and nothing else." },
  policy: { title: "Under a policy", text: "A policy says who may do what, and who sees which rows." },
};

const ACTIONS: readonly { action: string; label: string; about: string }[] = [
  { action: "read", label: "Read", about: "ask, find, look at history" },
  { action: "export", label: "Export", about: "take all rows out" },
  { action: "change", label: "Change", about: "change, load and revert" },
  { action: "branch_create", label: "Branch", about: "make a branch from it" },
  { action: "branch_delete", label: "Delete", about: "delete the branch" },
  { action: "schema_apply", label: "Schema", about: "change the schema" },
  { action: "admin", label: "Look after", about: "optimize, clean up, see all load jobs" },
];

export default function MeView() {
  const known = me.value;
  if (known === null) return <Waiting />;
  const state = STATES[known.state];
  return (
    <div class="pad me">
      <h1>{known.actor_id === null ? "You have no name here" : `You are ${known.actor_id}`}</h1>
      <div class="me-cards">
        <section class="card" aria-labelledby="me-token">
          <h2 id="me-token">Your token</h2>
          <p>
            {token.value === null
              ? known.state === "open"
                ? "This page has no token, and needs none."
                : "This page has no token."
              : "This page has a token. It is kept in this tab only, and forgotten when you close it."}
          </p>
          <p class="row">
            <button type="button" onClick={() => (tokenWanted.value = true)}>
              {token.value === null ? "Give a token" : "Use another token"}
            </button>
            {token.value !== null && (
              <button type="button" onClick={forgetToken}>
                Forget it
              </button>
            )}
          </p>
        </section>
        <section class="card" aria-labelledby="me-server">
          <h2 id="me-server">The server</h2>
          <p>
            <strong>{state?.title ?? known.state}</strong>. {state?.text}
          </p>
          {rights.value?.is_read_only && <p>It is read-only: nobody changes anything through it.</p>}
          <p class="soft">
            OmniGraph {known.version} at {location.host}
          </p>
        </section>
      </div>
      <Rights />
      {known.graphs !== null && known.graphs.length > 1 && (
        <section class="card" aria-labelledby="me-graphs">
          <h2 id="me-graphs">Graphs</h2>
          <ul>
            {known.graphs.map((name) => (
              <li key={name}>
                <a href={address({ graph: name, view: "query" })}>{name}</a>
                {name === graph.value && <span class="soft"> (this one)</span>}
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

/** The branches that may take this one; of those that take some rows, a review tells whether they take these. */
function MergesInto({ branch, count }: { branch: BranchRights; count: number }) {
  const { merges_into: all, merges_some_into: some } = branch;
  if (all.length + some.length === 0) return <span class="soft">none</span>;
  if (count > 0 && all.length === count) return <>any other</>;
  if (all.length + some.length > 3) return <>{all.length + some.length} branches</>;
  return <>{[...all, ...some.map((name) => `${name} (some rows)`)].join(", ")}</>;
}

function Rights() {
  const known = rights.value;
  if (known === null) return <Waiting what="Looking up what you may do" />;
  return (
    <section class="card" aria-labelledby="me-rights">
      <h2 id="me-rights">What you may do on {known.graph_id}</h2>
      <div class="me-scroll" tabIndex={0} role="region" aria-label="Rights by branch">
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Branch</th>
              {ACTIONS.map(({ action, label, about }) => (
                <th key={action} scope="col" class="me-mark" title={about}>
                  {label}
                </th>
              ))}
              <th scope="col">Merge it into</th>
            </tr>
          </thead>
          <tbody>
            {known.branches.map((branch) => (
              <tr key={branch.name}>
                <th scope="row" class="me-branch">
                  {branch.name}
                </th>
                {ACTIONS.map(({ action }) => {
                  const isAllowed = branch.actions.includes(action);
                  return (
                    <td key={action} class="me-mark">
                      <span class={isAllowed ? "me-yes" : "me-no"} aria-hidden="true">
                        {isAllowed ? "✓" : "–"}
                      </span>
                      <span class="unseen">{isAllowed ? "yes" : "no"}</span>
                    </td>
                  );
                })}
                <td class="me-into">
                  <MergesInto branch={branch} count={known.branches.length - 1} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <dl class="me-about">
        {ACTIONS.map(({ action, label, about }) => (
          <div key={action}>
            <dt>{label}</dt>
            <dd>{about}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
