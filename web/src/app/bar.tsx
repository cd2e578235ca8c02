/** The bar on top: which graph, which branch, which moment, and what is true everywhere. */
import { signal } from "@preact/signals";
import { Icon } from "../parts/icons";
import { keysShown } from "./keys";
import { branch, go, moment } from "./route";
import { branches, graph, me } from "./session";
import { theme, toggleTheme } from "./theme";
import { WhoAmI } from "./who";

export const sliderOpen = signal(false);

export function Bar() {
  const names = branches.value.includes(branch.value) ? branches.value : [...branches.value, branch.value];
  const graphs = me.value?.graphs ?? [];
  return (
    <header class="bar">
      <a class="brand" href="/explore/" aria-label="OmniGraph explorer">
        <Icon name="graph" size={22} />
        <span class="wide-only">OmniGraph</span>
      </a>
      {graphs.length > 1 ? (
        <select
          aria-label="Graph"
          value={graph.value ?? ""}
          onChange={(event) => go({ graph: event.currentTarget.value, view: "query" })}
        >
          {graphs.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      ) : (
        <strong class="graph-name">{graph.value ?? ""}</strong>
      )}
      <label class="branch">
        <Icon name="branch" size={16} />
        <span class="unseen">Branch</span>
        <select
          value={branch.value}
          onChange={(event) => {
            const chosen = event.currentTarget.value;
            go({ set: { branch: chosen === "main" ? null : chosen, at: null } });
          }}
        >
          {names.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <button
        type="button"
        class="quiet"
        aria-expanded={sliderOpen.value || moment.value !== null}
        aria-controls="time"
        onClick={() => (sliderOpen.value = !sliderOpen.value)}
      >
        <Icon name="clock" />
        <span class="wide-only">{moment.value === null ? "Now" : "Then"}</span>
        <span class="unseen">: travel in time</span>
      </button>
      <span class="stretch" />
      <WhoAmI />
      <button
        type="button"
        class="quiet wide-only"
        aria-label="Keyboard"
        title="Keyboard (?)"
        onClick={() => (keysShown.value = true)}
      >
        <Icon name="keys" />
      </button>
      <button
        type="button"
        class="quiet"
        aria-label={theme.value === "dark" ? "Use light colours" : "Use dark colours"}
        title="Light or dark (t)"
        onClick={toggleTheme}
      >
        <Icon name={theme.value === "dark" ? "sun" : "moon"} />
      </button>
    </header>
  );
}
