/** The editor: CodeMirror, with findings and completions of the server. */
import { autocompletion, closeBrackets, closeBracketsKeymap, type CompletionContext, type CompletionResult, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, indentUnit } from "@codemirror/language";
import { type Diagnostic, linter, lintKeymap } from "@codemirror/lint";
import { EditorState, StateEffect } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Completion } from "../../api/types";
import { callHere, standing, target } from "../../app/session";
import { codePointsOf, unitsOf } from "../../parts/offsets";
import { colours, gq } from "./language";
import { cursor, lintNow, run, text } from "./state";

const PAUSE_MS = 250;
/** Branch, moment or head moved: what was right there may be wrong here. */
const moved = StateEffect.define<null>();

async function findings(view: EditorView): Promise<Diagnostic[]> {
  const of = view.state.doc.toString();
  if (of.trim() === "") return [];
  const found = await lintNow();
  if (found === null || view.state.doc.toString() !== of) return [];
  return found.findings.map((finding) => {
    const from = unitsOf(of, finding.start);
    const to = Math.max(unitsOf(of, finding.end), Math.min(from + 1, of.length));
    const hint = finding.hint === null ? "" : `\n${finding.hint}`;
    return { from: Math.min(from, to), to, severity: finding.severity, message: `${finding.code}: ${finding.message}${hint}` };
  });
}

async function completions(context: CompletionContext): Promise<CompletionResult | null> {
  const before = context.matchBefore(/[\w$.@:]*/);
  if (!context.explicit && (before === null || before.text === "")) return null;
  const all = context.state.doc.toString();
  const answer = await callHere<Completion>("complete", { text: all, offset: codePointsOf(all, context.pos), ...target.peek() });
  if (!answer.ok || context.aborted || answer.value.candidates.length === 0) return null;
  return {
    from: unitsOf(all, answer.value.start),
    options: answer.value.candidates.map((candidate) => ({
      label: candidate.text,
      ...(candidate.about === null ? {} : { detail: candidate.about }),
    })),
    validFor: /^[\w$]*$/,
  };
}

const look = EditorView.theme({
  "&": { height: "100%", fontSize: "13.5px", backgroundColor: "var(--sheet)", color: "var(--ink)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--ink)", padding: "10px 0" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--sheet)", color: "var(--soft)", border: "none" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "var(--accent-wash)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-wash)", outline: "1px solid var(--line-strong)" },
  ".cm-placeholder": { color: "var(--soft)" },
  ".cm-tooltip": { backgroundColor: "var(--sheet)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: "8px", boxShadow: "var(--shadow)" },
  ".cm-tooltip-autocomplete > ul > li": { padding: "3px 8px" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--accent-ink)" },
  ".cm-completionDetail": { fontStyle: "normal", opacity: "0.85" },
  ".cm-diagnostic": { whiteSpace: "pre-wrap", padding: "6px 10px" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad) 1px" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--warn) 1px" },
});

export function Editor() {
  const holder = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const view = new EditorView({
      parent: holder.current!,
      state: EditorState.create({
        doc: text.peek(),
        extensions: [
          lineNumbers(),
          history(),
          drawSelection(),
          bracketMatching(),
          closeBrackets(),
          indentUnit.of("    "),
          gq,
          colours,
          look,
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": "Query", "data-editor": "", tabindex: "0" }),
          placeholder("query q() { match { … } return { … } }"),
          autocompletion({ override: [completions], icons: false, activateOnTypingDelay: 120 }),
          linter(findings, {
            delay: PAUSE_MS,
            needsRefresh: (update) => update.transactions.some((one) => one.effects.some((effect) => effect.is(moved))),
          }),
          keymap.of([
            { key: "Mod-Enter", run: () => (void run(), true) },
            ...closeBracketsKeymap,
            ...completionKeymap,
            ...lintKeymap,
            ...historyKeymap,
            ...defaultKeymap,
            indentWithTab,
            // Tab indents, so there must be a way out: Escape, where it closes nothing else.
            { key: "Escape", run: (editor) => (editor.contentDOM.blur(), true) },
          ]),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) text.value = update.state.doc.toString();
            if (update.docChanged || update.selectionSet) {
              cursor.value = codePointsOf(update.state.doc.toString(), update.state.selection.main.head);
            }
          }),
        ],
      }),
    });
    // A sample, a link or another view may put a text in; the way back is undo.
    const follow = effect(() => {
      const wanted = text.value;
      const has = view.state.doc.toString();
      if (wanted === has) return;
      // Who is in the editor already is about to type: what they type takes the place of a sample that comes late.
      const selection = has === "" && view.hasFocus ? { selection: { anchor: 0, head: wanted.length } } : {};
      view.dispatch({ changes: { from: 0, to: has.length, insert: wanted }, ...selection });
    });
    // A link says which of several queries it runs.
    const point = effect(() => {
      const at = unitsOf(view.state.doc.toString(), cursor.value);
      if (at !== view.state.selection.main.head) view.dispatch({ selection: { anchor: at }, scrollIntoView: true });
    });
    const relint = effect(() => {
      if (standing.value) view.dispatch({ effects: moved.of(null) });
    });
    return () => {
      follow();
      point();
      relint();
      view.destroy();
    };
  }, []);
  return <div class="editor" ref={holder} />;
}
