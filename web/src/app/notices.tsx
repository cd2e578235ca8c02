/** What the page says when the server is away, is busy, or wants to know who asks. */
import { useEffect, useState } from "preact/hooks";
import { link, tokenWanted, token, useToken, waiting } from "../api/link";
import { Dialog } from "../parts/dialog";
import { allKeys, keysShown } from "./keys";

export function Banner() {
  const [now, setNow] = useState(Date.now());
  const until = waiting.value;
  useEffect(() => {
    if (until === null) return;
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, [until]);
  if (link.value === "gone") {
    return (
      <div class="banner bad" role="alert">
        The server can't be reached. What you typed is kept; the page goes on by itself when it is back.
      </div>
    );
  }
  if (until !== null) {
    const seconds = Math.max(1, Math.ceil((until - now) / 1000));
    return (
      <div class="banner" role="status">
        The server is busy and asked to wait. Trying again in {seconds} s …
      </div>
    );
  }
  return null;
}

export function TokenDialog() {
  const [typed, setTyped] = useState("");
  if (!tokenWanted.value) return null;
  return (
    <Dialog title="Who are you?" onClose={() => (tokenWanted.value = false)}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const given = typed.trim();
          if (given !== "") useToken(given);
          setTyped("");
        }}
      >
        <p>
          {token.value === null
            ? "This server wants a token. Who runs it gives you one."
            : "The server does not take the token that this page has. Give another one."}
        </p>
        <label class="field">
          <span>Token</span>
          <input
            type="password"
            autocomplete="off"
            autofocus
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </label>
        <p class="hint">It is kept in this tab only, and forgotten when you close it.</p>
        <p class="row end">
          <button type="submit" class="main" disabled={typed.trim() === ""}>
            Use it
          </button>
        </p>
      </form>
    </Dialog>
  );
}

const MOD = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl";

export function KeysDialog() {
  if (!keysShown.value) return null;
  return (
    <Dialog title="Keyboard" onClose={() => (keysShown.value = false)}>
      <dl class="keys">
        {allKeys.value.map((key) => (
          <div key={key.keys + key.what}>
            <dt>
              {key.keys
                .replace("mod+", `${MOD} `)
                .split(" ")
                .map((part, at) => (
                  <kbd key={at}>{part}</kbd>
                ))}
            </dt>
            <dd>{key.what}</dd>
          </div>
        ))}
      </dl>
      <p class="hint small keys-more">
        In the editor Tab indents, and Escape leaves it. In a picture the arrows choose a node, Enter shows its neighbours, x takes it away, p pins
        it, u undoes, + − 0 zoom.
      </p>
    </Dialog>
  );
}
