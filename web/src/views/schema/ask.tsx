/** A link that asks for entities of a type: in this page at once, and by its address in another tab. */
import type { ComponentChildren } from "preact";
import { address, go } from "../../app/route";

interface Props {
  readonly text: string;
  readonly label: string;
  readonly class?: string;
  readonly style?: Readonly<Record<string, string>>;
  readonly children: ComponentChildren;
}

export function AskLink({ text, label, children, class: className = "", style = {} }: Props) {
  const as = "graph";
  return (
    <a
      class={className}
      style={style}
      href={address({ view: "query", set: { q: text, run: "1", as } })}
      aria-label={label}
      title={label}
      onClick={(event) => {
        if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        // The editor may hold another text already: it takes this one.
        void import("../query/state").then(({ runText }) => {
          go({ view: "query" });
          runText(text, as);
        });
      }}
    >
      {children}
    </a>
  );
}
