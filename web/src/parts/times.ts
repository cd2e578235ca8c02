/** Times as people read them, in their own zone. */
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const minute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const second = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const count = new Intl.NumberFormat("en");

/** Calls say times as texts, load jobs as microseconds since 1970. */
export const fromMicros = (micros: number): Date => new Date(micros / 1000);
export const fromText = (text: string): Date => new Date(text);
export const onDay = (time: Date): string => day.format(time);
export const atMinute = (time: Date): string => minute.format(time);
export const atSecond = (time: Date): string => second.format(time);

export function ago(time: Date, now = Date.now()): string {
  const seconds = Math.max(0, (now - time.getTime()) / 1000);
  if (seconds < 60) return "just now";
  if (seconds < 3600) return said(Math.floor(seconds / 60), "minute");
  if (seconds < 86_400) return said(Math.floor(seconds / 3600), "hour");
  if (seconds < 30 * 86_400) return said(Math.floor(seconds / 86_400), "day");
  return `on ${onDay(time)}`;
}

const said = (number: number, unit: string): string => `${number} ${unit}${number === 1 ? "" : "s"} ago`;

export const number = (value: number): string => count.format(value);
/** "1 row", "2 rows", "0 entities". */
export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${number(value)} ${value === 1 ? one : many}`;

export const bytes = (size: number): string => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  let value = size;
  while (value >= 1024 && at < units.length - 1) {
    value /= 1024;
    at += 1;
  }
  return `${at === 0 ? value : value.toFixed(1)} ${units[at]}`;
};

export const milliseconds = (value: number): string =>
  value < 1 ? `${value.toFixed(2)} ms` : value < 1000 ? `${value.toFixed(1)} ms` : `${(value / 1000).toFixed(2)} s`;
