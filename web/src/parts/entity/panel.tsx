/** One entity: what it is, what is around it, and how it came to be so. */
import type { ComponentChildren } from "preact";
import { useAsked } from "../../api/asked";
import type { EdgeCount, Entity } from "../../api/types";
import { callHere, standing, target } from "../../app/session";
import { moment } from "../../app/route";
import { copy } from "../clipboard";
import { Icon } from "../icons";
import { Trouble, Waiting } from "../states";
import { EntityLink, TypeChip } from "../types";
import { Blobs } from "./blobs";
import { History } from "./history";
import { Neighbours } from "./neighbours";
import { PropertyList } from "./properties";

interface Props {
  readonly type: string;
  readonly id: string;
  readonly kind?: "node" | "edge";
  /** Offered beside each kind of edge: brings those neighbours into a picture. */
  readonly onExpand?: (count: EdgeCount) => void;
  /** Buttons of the view that shows it. */
  readonly children?: ComponentChildren;
  readonly onClose?: () => void;
  /** Whether the history is open from the start. */
  readonly isWhole?: boolean;
}

export function EntityPanel({ type, id, kind = "node", onExpand, children, onClose, isWhole = false }: Props) {
  const key = `${standing.value}|entity|${kind}|${type}|${id}`;
  const asked = useAsked<Entity>(key, (signal) =>
    callHere("entity", { kind, type_name: type, entity_id: id, ...target.peek() }, signal),
  );
  const entity = asked.value;
  const isThis = entity !== null && entity.id === id && entity.type_name === type;
  return (
    <article class="entity" aria-label={`${type} ${id}`}>
      <header class="entity-head">
        <div class="row">
          <TypeChip type={type} />
          <span class="stretch" />
          {onClose !== undefined && (
            <button type="button" class="plain" aria-label="Close the panel" onClick={onClose}>
              ×
            </button>
          )}
        </div>
        <div class="row title">
          <h2>{isThis ? entity.label : id}</h2>
          <button type="button" class="plain" aria-label="Copy the id" title="Copy the id" onClick={() => void copy(id, "the id")}>
            <Icon name="copy" size={15} />
          </button>
        </div>
        {isThis && entity.label !== id && <code class="soft small">{id}</code>}
        {children !== undefined && <div class="row tight actions">{children}</div>}
      </header>
      {asked.problem !== null ? (
        asked.problem.kind === "absent" && moment.value !== null ? (
          <p class="entity-note">It is not there at this moment: it came later, or was gone by then.</p>
        ) : (
          <Trouble problem={asked.problem} again={asked.again} />
        )
      ) : !isThis ? (
        <Waiting what="Reading it" />
      ) : (
        <>
          {entity.kind === "edge" && entity.from_ !== null && entity.to !== null && (
            <p class="row">
              <EntityLink type={entity.from_.type_name} id={entity.from_.id} />
              <span aria-label="to">→</span>
              <EntityLink type={entity.to.type_name} id={entity.to.id} />
            </p>
          )}
          <section>
            <h3>Properties</h3>
            <PropertyList properties={entity.properties} />
            {entity.blobs.length > 0 && <Blobs entity={entity} />}
          </section>
          {entity.kind === "node" && (
            <section>
              <h3>Neighbours</h3>
              <Neighbours type={type} id={id} counts={entity.counts} {...(onExpand === undefined ? {} : { onExpand })} />
            </section>
          )}
        </>
      )}
      <section>
        <History key={`${type}|${id}`} kind={kind} type={type} id={id} isOpen={isWhole} />
      </section>
    </article>
  );
}
