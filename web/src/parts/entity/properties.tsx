/** Properties and their values. Long ones are cut until somebody wants them. */
import { useState } from "preact/hooks";
import type { Properties } from "../../api/types";
import { jsonText, shown } from "../../api/values";

const LONGEST = 280;

export function PropertyList({ properties }: { properties: Properties }) {
  const members = Object.entries(properties);
  if (members.length === 0) return <p class="soft">It has none.</p>;
  return (
    <dl class="properties">
      {members.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value === null ? <span class="soft">–</span> : <Long value={value} />}</dd>
        </div>
      ))}
    </dl>
  );
}

function Long({ value }: { value: unknown }) {
  const [isWhole, setIsWhole] = useState(false);
  const text = shown(value);
  if (value === "") return <span class="soft">empty text</span>;
  const whole = typeof value === "object" ? jsonText(value) : text;
  // A list that is cut in one line has room here.
  if (whole.length <= LONGEST) return <>{Array.isArray(value) && text.includes("…") ? whole.replaceAll(/\n */g, " ") : text}</>;
  return (
    <>
      {isWhole ? whole : `${text.slice(0, LONGEST)}…`}{" "}
      <button type="button" class="link small" onClick={() => setIsWhole(!isWhole)}>
        {isWhole ? "less" : "all of it"}
      </button>
    </>
  );
}
