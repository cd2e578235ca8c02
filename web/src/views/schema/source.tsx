/** The text of the schema, in colours. */
import { copy, save } from "../../parts/clipboard";

const TOKEN =
  /(?<comment>\/\/[^\n]*|\/\*[\s\S]*?\*\/)|(?<string>"(?:[^"\\]|\\.)*")|(?<meta>@\w+)|(?<keyword>\b(?:node|edge|interface|implements)\b)|(?<type>\b[A-Z]\w*\b)|(?<number>\b\d+(?:\.\d+)?\b)|(?<property>\b\w+(?=\s*:))/g;

interface Piece {
  readonly kind: string | null;
  readonly text: string;
}

export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let at = 0;
  for (const match of text.matchAll(TOKEN)) {
    if (match.index > at) found.push({ kind: null, text: text.slice(at, match.index) });
    const kind = Object.entries(match.groups ?? {}).find(([, part]) => part !== undefined)?.[0] ?? null;
    found.push({ kind, text: match[0] });
    at = match.index + match[0].length;
  }
  if (at < text.length) found.push({ kind: null, text: text.slice(at) });
  return found;
}

export function Source({ text, name }: { text: string; name: string }) {
  return (
    <div class="schema-source">
      <div class="row end">
        <button type="button" onClick={() => void copy(text, "the schema")}>
          Copy
        </button>
        <button type="button" onClick={() => save(text, `${name}.pg`, "text/plain")}>
          Save as a file
        </button>
      </div>
      <pre tabIndex={0} aria-label="Text of the schema">
        {pieces(text).map((piece, at) =>
          piece.kind === null ? (
            piece.text
          ) : (
            <span key={at} class={`schema-${piece.kind}`}>
              {piece.text}
            </span>
          ),
        )}
      </pre>
    </div>
  );
}
