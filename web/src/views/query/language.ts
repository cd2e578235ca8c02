/** The words of .gq, for colours: the server alone knows what they mean. */
import { HighlightStyle, StreamLanguage, type StreamParser, syntaxHighlighting } from "@codemirror/language";
import { tags } from "@lezer/highlight";

const CLAUSES = /^(query|match|return|order|limit|offset|top|by|insert|update|delete|set|where)\b/;
const WORDS = /^(not|exists|optional|or|and|count|distinct|as|asc|desc|in|is|contains|starts_with|from|to|exact)\b/;
const CALLS = /^(count|sum|avg|min|max|collect|id|score|nearest|bm25|rrf|search|fuzzy|match_text|now|date|datetime)(?=\s*\()/;
const ATOMS = /^(true|false|null)\b/;

const parser: StreamParser<{ isInComment: boolean }> = {
  name: "gq",
  startState: () => ({ isInComment: false }),
  token(stream, state) {
    if (state.isInComment) {
      if (stream.skipTo("*/")) {
        stream.match("*/");
        state.isInComment = false;
      } else stream.skipToEnd();
      return "comment";
    }
    if (stream.eatSpace()) return null;
    if (stream.match("//")) {
      stream.skipToEnd();
      return "comment";
    }
    if (stream.match("/*")) {
      state.isInComment = true;
      return "comment";
    }
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return "string";
    if (stream.match(/^\$\w*/)) return "variableName";
    if (stream.match(/^@\w+/)) return "meta";
    if (stream.match(/^-?\d+(\.\d+)?([eE][+-]?\d+)?/)) return "number";
    // A property may be called `order`: after a dot a word is a name.
    if (stream.match(/^\.\w+/)) return "propertyName";
    if (stream.match(CALLS)) return "builtin";
    if (stream.match(CLAUSES)) return "keyword";
    if (stream.match(WORDS)) return "operatorKeyword";
    if (stream.match(ATOMS)) return "atom";
    if (stream.match(/^[A-Z]\w*/)) return "typeName";
    if (stream.match(/^\w+(?=\s*:)/)) return "propertyName";
    if (stream.match(/^\w+/)) return null;
    stream.next();
    return null;
  },
  languageData: { commentTokens: { line: "//" }, closeBrackets: { brackets: ["(", "[", "{", '"'] } },
  tokenTable: { builtin: tags.standard(tags.function(tags.variableName)) },
};

export const gq = StreamLanguage.define(parser);

// Colours are variables of the sheet, so that they follow the theme.
export const colours = syntaxHighlighting(
  HighlightStyle.define([
    { tag: tags.keyword, color: "var(--gq-keyword)", fontWeight: "600" },
    { tag: tags.operatorKeyword, color: "var(--gq-keyword)" },
    { tag: tags.standard(tags.function(tags.variableName)), color: "var(--gq-call)" },
    { tag: tags.variableName, color: "var(--gq-variable)" },
    { tag: tags.typeName, color: "var(--gq-type)" },
    { tag: tags.propertyName, color: "var(--gq-property)" },
    { tag: [tags.string, tags.number, tags.atom], color: "var(--gq-literal)" },
    { tag: [tags.comment, tags.meta], color: "var(--soft)", fontStyle: "italic" },
  ]),
);
