/** Text out of the page: to the clipboard, or into a file. */
import { tell } from "../app/toasts";

export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    tell(`Copied ${what}.`, "good");
  } catch {
    // Without https, or without the right: the old way needs a selection.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const isDone = document.execCommand("copy");
    area.remove();
    tell(isDone ? `Copied ${what}.` : "The browser does not allow to copy.", isDone ? "good" : "bad");
  }
}

export function save(text: string, name: string, type: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** A cell of CSV. A text that a spreadsheet would run as a formula gets an apostrophe. */
export function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) && !/^-\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
