/** Rows as JSON, a screenful at a time. */
import { useMemo, useRef } from "preact/hooks";
import type { QueryAnswer } from "../../api/types";
import { jsonText } from "../../api/values";
import { copy, save } from "../../parts/clipboard";
import { Icon } from "../../parts/icons";
import { counted } from "../../parts/times";
import { useVirtual } from "../../parts/virtual";

const LINE = 20;
/** More of a line is in what is copied and saved. */
const LONGEST_LINE = 4_000;

export function Json({ answer }: { answer: QueryAnswer }) {
  const scroller = useRef<HTMLDivElement>(null);
  const lines = useMemo(() => jsonText(answer.rows).split("\n"), [answer]);
  const { items, height } = useVirtual(lines.length, LINE, scroller);
  return (
    <div class="results-body">
      <div class="json" ref={scroller} tabIndex={0} role="region" aria-label="Rows as JSON">
        <div style={{ height: `${height}px`, position: "relative" }}>
          {items.map((item) => (
            <div key={item.index} class="json-line" style={{ transform: `translateY(${item.start}px)` }}>
              {lines[item.index]!.slice(0, LONGEST_LINE)}
            </div>
          ))}
        </div>
      </div>
      <footer class="row results-foot">
        <span class="soft grow">{counted(answer.rows.length, "row")}</span>
        <button type="button" class="quiet" onClick={() => void copy(lines.join("\n"), "the JSON")}>
          <Icon name="copy" size={16} /> Copy
        </button>
        <button type="button" class="quiet" onClick={() => save(lines.join("\n"), `${answer.query_name}.json`, "application/json")}>
          <Icon name="save" size={16} /> Save
        </button>
      </footer>
    </div>
  );
}
