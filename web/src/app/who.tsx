/** Who the server takes us for. */
import { Icon } from "../parts/icons";
import { address } from "./route";
import { me } from "./session";

export function WhoAmI() {
  const known = me.value;
  const name = known === null ? "…" : (known.actor_id ?? (known.state === "open" ? "open server" : "nobody"));
  return (
    <a class="button quiet who" href={address({ view: "me" })} title="Who am I, and what may I do?">
      <Icon name="me" />
      <span class="wide-only">{name}</span>
      <span class="unseen narrow-only">{name}</span>
    </a>
  );
}
