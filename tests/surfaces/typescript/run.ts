// What a program in TypeScript does with a server, by a client that was made from the contract alone.
// Usage: run.ts http://127.0.0.1:8080 TOKEN, with the graph of tests/surfaces/server/world.py.

import assert from "node:assert/strict";
import { client } from "./client/client.gen";
import * as api from "./client/sdk.gen";

const [baseUrl, token] = process.argv.slice(2);
client.setConfig({ baseUrl, auth: () => token });
const path = { graph_id: "people" };
const done: string[] = [];

async function promise(name: string, kept: () => Promise<void>): Promise<void> {
  await kept();
  done.push(name);
}

// What a call gives when it succeeds; it says what the server said when it does not.
async function good<T>(call: Promise<{ data?: T; error?: unknown; response?: Response }>): Promise<T> {
  const { data, error } = await call;
  assert.equal(error, undefined, JSON.stringify(error));
  assert.notEqual(data, undefined);
  return data as T;
}

const people = "query people() { match { $p: Person } return { $p.name } order { $p.name } }";
const add = "query add($name: String) { insert Person { name: $name } }";

async function names(branch?: string): Promise<string[]> {
  const { rows } = await good(api.clusterQuery({ path, body: { query: people, branch } }));
  return (rows as { "p.name": string }[]).map((row) => row["p.name"]);
}

await promise("health", async () => {
  assert.equal((await good(api.health())).status, "ok");
  const { graphs } = await good(api.listGraphs());
  assert.deepEqual(graphs.map((graph) => graph.graph_id), ["people"]);
});

await promise("a wrong token", async () => {
  const { error, response } = await api.clusterListBranches({ path, auth: () => "wrong" });
  assert.equal(response?.status, 401);
  assert.equal(error?.code, "unauthorized");
});

await promise("branches whose names hold slashes", async () => {
  await good(api.clusterCreateBranch({ path, body: { name: "review/1" } }));
  assert.deepEqual((await good(api.clusterListBranches({ path }))).branches, ["main", "review/1"]);
});

await promise("a query", async () => {
  assert.deepEqual(await names(), ["ada", "bob", "cleo"]);
  const { error, response } = await api.clusterQuery({ path, body: { query: "broken" } });
  assert.equal(response?.status, 400);
  assert.equal(error?.code, "bad_request");
});

await promise("a mutation on a condition", async () => {
  const branch = "review/1";
  const { commits } = await good(api.clusterListCommits({ path, query: { branch } }));
  const headers = { "Omnigraph-If-Graph-Commit": commits[0].graph_commit_id };
  const body = { query: add, params: { name: "dan" }, branch };
  const made = await good(api.clusterMutateIfGraphCommit({ path, headers, body }));
  assert.equal(made.affected_nodes, 1);
  assert.ok(made.commit);
  const id = made.commit.graph_commit_id;
  assert.deepEqual(await good(api.clusterGetCommit({ path: { ...path, commit_id: id } })), made.commit);
  const again = await api.clusterMutateIfGraphCommit({ path, headers, body });
  assert.equal(again.response?.status, 412);
  assert.deepEqual(again.error?.precondition_failure, {
    expected: headers["Omnigraph-If-Graph-Commit"],
    actual: id,
  });
});

await promise("a merge", async () => {
  const body = { source: "review/1", target: "main" };
  assert.equal((await good(api.clusterMergeBranches({ path, body }))).outcome, "fast_forward");
  assert.equal((await good(api.clusterMergeBranches({ path, body }))).outcome, "already_up_to_date");
  assert.deepEqual(await names(), ["ada", "bob", "cleo", "dan"]);
  await good(api.clusterDeleteBranch({ path: { ...path, branch: "review/1" } }));
  assert.deepEqual((await good(api.clusterListBranches({ path }))).branches, ["main"]);
});

await promise("a load, and a feed in pages", async () => {
  const start = await good(api.clusterPollChanges({ path, query: { start: "now" } }));
  assert.ok(start.cursor);
  const lines = [
    { type: "Person", data: { name: "eve" } },
    { edge: "Knows", from: "eve", to: "ada" },
  ];
  const body = lines.map((line) => JSON.stringify(line)).join("\n");
  const loaded = await good(
    api.clusterLoadNdjson({ path, query: { mode: "merge" }, body, bodySerializer: (text) => text }),
  );
  assert.equal(loaded.total_entities, 2);
  const ids: string[] = [];
  let page = await good(api.clusterPollChanges({ path, query: { cursor: start.cursor, limit: 1 } }));
  for (let number = 0; number < 5; number += 1) {
    ids.push(...page.blocks.flatMap((block) => block.changes.map((change) => change.type.name)));
    if (page.caught_up) break;
    assert.ok(page.next_page_token);
    const query = { page_token: page.next_page_token, limit: 1 };
    page = await good(api.clusterPollChanges({ path, query }));
  }
  assert.deepEqual(ids, ["Person", "Knows"]);
  assert.ok(page.caught_up && page.cursor);
});

await promise("bytes in ranges", async () => {
  const query = { entity: "node", type: "Person", id: "ada", property: "avatar" } as const;
  const head = await api.clusterHeadBlob({ path, query });
  assert.equal(head.response?.headers.get("content-length"), "11");
  const etag = head.response?.headers.get("etag");
  assert.ok(etag);
  const some = { Range: "bytes=6-", "If-Match": etag };
  const { data, response } = await api.clusterGetBlob({ path, query, headers: some, parseAs: "blob" });
  assert.equal(response?.status, 206);
  assert.equal(await (data as Blob).text(), "world");
  const beyond = await api.clusterGetBlob({ path, query, headers: { Range: "bytes=99-" } });
  assert.equal(beyond.response?.status, 416);
  const same = await api.clusterGetBlob({ path, query, headers: { "If-None-Match": etag } });
  assert.equal(same.response?.status, 304);
  const other = await api.clusterGetBlob({ path, query, headers: { "If-Match": '"other"' } });
  assert.equal(other.response?.status, 412);
});

await promise("an export", async () => {
  const text = await good(api.clusterExport({ path, body: {}, parseAs: "text" }) as Promise<{ data?: string }>);
  const rows = text.trim().split("\n").map((line) => JSON.parse(line));
  assert.equal(rows.filter((row) => row.type === "Person").length, 5);
  assert.ok(rows.some((row) => row.edge === "Knows" && row.from === "eve"));
});

console.log(done.join("\n"));
