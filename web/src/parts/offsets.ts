/** The server counts code points, the editor UTF-16 units. They differ behind an emoji only. */
const PAIRS = /[\ud800-\udbff][\udc00-\udfff]/;

export function unitsOf(text: string, codePoints: number): number {
  if (!PAIRS.test(text)) return Math.min(codePoints, text.length);
  let units = 0;
  for (const character of text) {
    if (codePoints-- <= 0) break;
    units += character.length;
  }
  return units;
}

export function codePointsOf(text: string, units: number): number {
  const before = text.slice(0, units);
  return PAIRS.test(before) ? [...before].length : before.length;
}
