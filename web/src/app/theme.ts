/** Light or dark: what the system says, until the reader says otherwise. */
import { effect, signal } from "@preact/signals";

export type Theme = "light" | "dark";

const KEPT_AS = "omnigraph.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const chosen = (): Theme | null => {
  const kept = localStorage.getItem(KEPT_AS);
  return kept === "light" || kept === "dark" ? kept : null;
};

export const theme = signal<Theme>(chosen() ?? (system.matches ? "dark" : "light"));

system.addEventListener("change", () => {
  if (chosen() === null) theme.value = system.matches ? "dark" : "light";
});

effect(() => {
  document.documentElement.dataset.theme = theme.value;
});

export function toggleTheme(): void {
  theme.value = theme.value === "dark" ? "light" : "dark";
  localStorage.setItem(KEPT_AS, theme.value);
}
