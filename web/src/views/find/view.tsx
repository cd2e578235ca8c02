/** Find something by its key or its words, and look at it. */
import { useEffect, useRef, useState } from "preact/hooks";
import { useAsked } from "../../api/asked";
import type { Found, Hit } from "../../api/types";
import { address, go, place } from "../../app/route";
import { callHere, schema, standing, target } from "../../app/session";
import { EntityPanel } from "../../parts/entity/panel";
import { Icon } from "../../parts/icons";
import { Empty, Trouble, Waiting } from "../../parts/states";
import { counted } from "../../parts/times";
import { Dot } from "../../parts/types";
import { runText } from "../query/state";
import "./style.css";

const PAUSE_MS = 200;
const HITS = 50;
const HOW: Readonly<Record<Hit["how"], string>> = {
  key: "its key",
  prefix: "begins so",
  substring: "has it inside",
  words: "by its words",
  text: "by its words",
};

export default function FindView() {
  const params = place.value.params;
  const wanted = params.find ?? "";
  const only = params.only ?? "";
  const [typed, setTyped] = useState(wanted);
  const box = useRef<HTMLInputElement>(null);
  // The address follows what is typed after a pause, and what is typed follows the back button:
  // but not an address that we wrote ourselves, since more may have been typed meanwhile.
  const written = useRef(wanted);
  useEffect(() => {
    if (typed === (place.peek().params.find ?? "")) return;
    const timer = setTimeout(() => {
      written.current = typed;
      go({ set: { find: typed } }, true);
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  useEffect(() => {
    if (written.current !== wanted) setTyped(wanted);
    written.current = wanted;
  }, [wanted]);
  useEffect(() => {
    if (params.id === undefined) box.current?.focus();
  }, []);
  const key = wanted.trim() === "" ? null : `${standing.value}|find|${only}|${wanted}`;
  const asked = useAsked<Found>(key, (signal) =>
    callHere("find", { text: wanted.trim(), types: only === "" ? null : [only], limit: HITS, ...target.peek() }, signal),
  );
  const hits = key === null ? [] : (asked.value?.hits ?? []);
  const open = (hit: Hit): void => go({ set: { type: hit.type_name, id: hit.id, kind: null } });
  const isOpen = params.type !== undefined && params.id !== undefined;
  return (
    <div class={isOpen ? "find has-entity" : "find"}>
      <section class="find-list" aria-label="Find">
        <h1>Find</h1>
        <form
          class="find-box"
          role="search"
          onSubmit={(event) => {
            event.preventDefault();
            const first = hits[0];
            if (first !== undefined) open(first);
          }}
        >
          <label class="field">
            <span>A key, a part of one, or words</span>
            <input
              ref={box}
              data-find=""
              type="search"
              autocomplete="off"
              spellcheck={false}
              value={typed}
              onInput={(event) => setTyped(event.currentTarget.value)}
              onKeyDown={(event) => {
                if (event.key !== "ArrowDown") return;
                event.preventDefault();
                document.querySelector<HTMLElement>(".hit")?.focus();
              }}
            />
          </label>
          <label class="field">
            <span>Of type</span>
            <select value={only} onChange={(event) => go({ set: { only: event.currentTarget.value } }, true)}>
              <option value="">any</option>
              {schema.value?.catalog.nodes.map((node) => (
                <option key={node.name}>{node.name}</option>
              ))}
            </select>
          </label>
        </form>
        {asked.problem !== null && key !== null ? (
          <Trouble problem={asked.problem} again={asked.again} />
        ) : key === null ? (
          <Types />
        ) : asked.value === null ? (
          <Waiting what="Looking" />
        ) : hits.length === 0 ? (
          <Empty icon="find" title="Nothing found">
            <p>No node has “{wanted}” in its key or its texts{only === "" ? "" : ` among ${only}`}.</p>
          </Empty>
        ) : (
          <>
            <p class="soft small" role="status">
              {asked.value.has_more ? `The best ${hits.length}. A longer text finds fewer.` : `${counted(hits.length, "node")}.`}
            </p>
            <ul class="plain-list hits" onKeyDown={moveFocus}>
              {hits.map((hit) => (
                <li key={`${hit.type_name} ${hit.id}`}>
                  <a
                    class="hit"
                    href={address({ set: { type: hit.type_name, id: hit.id, kind: null } })}
                    aria-current={hit.type_name === params.type && hit.id === params.id ? "true" : undefined}
                  >
                    <Dot type={hit.type_name} />
                    <span class="grow">
                      <strong>{hit.label}</strong> <span class="soft small">{hit.type_name}</span>
                      {hit.excerpt !== hit.label && <span class="excerpt soft small">{hit.excerpt}</span>}
                    </span>
                    <span class="soft small">{hit.how !== "key" && hit.how !== "prefix" ? hit.property : HOW[hit.how]}</span>
                  </a>
                </li>
              ))}
            </ul>
          </>
        )}
      </section>
      {isOpen && (
        <section class="find-entity" aria-label="Entity">
          <EntityPanel type={params.type!} id={params.id!} kind={params.kind === "edge" ? "edge" : "node"} isWhole onClose={() => go({ set: { type: null, id: null, kind: null } })}>
            {params.kind !== "edge" && (
              <button type="button" onClick={() => draw(params.type!, params.id!)}>
                <Icon name="graph" size={16} /> Draw it
              </button>
            )}
          </EntityPanel>
        </section>
      )}
    </div>
  );
}

/** A picture that begins with one node. */
function draw(type: string, id: string): void {
  const property = schema.peek()?.catalog.nodes.find((node) => node.name === type)?.properties.some((known) => known.name === "id");
  const test = property === true ? `id($a) = ${JSON.stringify(id)}` : `$a.id = ${JSON.stringify(id)}`;
  go({ view: "query", set: { as: "graph", type: null, id: null, find: null } });
  runText(`query one() {\n    match {\n        $a: ${type}\n        ${test}\n    }\n    return { $a }\n}\n`, "graph");
}

function Types() {
  const nodes = schema.value?.catalog.nodes ?? [];
  return (
    <div class="find-types">
      <p class="soft">Type a few letters, or look at some of a type:</p>
      <p class="row">
        {nodes.map((node) => (
          <button
            key={node.name}
            type="button"
            onClick={() => {
              go({ view: "query" });
              runText(`query some() {\n    match { $a: ${node.name} }\n    return { $a }\n    limit 50\n}\n`, null);
            }}
          >
            <Dot type={node.name} />
            {node.name}
          </button>
        ))}
      </p>
    </div>
  );
}

function moveFocus(event: KeyboardEvent): void {
  const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (by === 0) return;
  event.preventDefault();
  const all = [...document.querySelectorAll<HTMLElement>(".hit")];
  const at = all.indexOf(document.activeElement as HTMLElement);
  if (at + by < 0) document.querySelector<HTMLElement>("[data-find]")?.focus();
  else all[Math.min(at + by, all.length - 1)]?.focus();
}
