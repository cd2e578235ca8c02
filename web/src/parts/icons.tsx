/** Small pictures of one stroke. They never stand alone: a label is beside them, or names them. */
const PATHS = {
  query: "M4 6h16M4 12h10M4 18h7M17 14l4 3-4 3z",
  find: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l5 5",
  schema: "M4 4h7v6H4zM13 14h7v6h-7zM7.5 10v7H13",
  history: "M6 4v16M6 8c0 4 12 2 12 7v1M6 4m-2 0a2 2 0 1 0 4 0 2 2 0 1 0-4 0M18 18m-2 0a2 2 0 1 0 4 0 2 2 0 1 0-4 0M6 20m-2 0a2 2 0 1 0 4 0 2 2 0 1 0-4 0",
  review: "M4 5h10M4 10h7M4 15h5M12 17l3 3 6-7",
  loads: "M12 3v12M7 10l5 5 5-5M4 20h16",
  indexes: "M5 20V9M10 20V4M15 20v-8M20 20V7",
  me: "M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4 21c0-4 4-6 8-6s8 2 8 6",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M19 5l-2 2M7 17l-2 2",
  moon: "M20 14A8 8 0 1 1 10 4a7 7 0 0 0 10 10z",
  clock: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 7v5l4 2",
  keys: "M3 7h18v11H3zM7 11h.01M11 11h.01M15 11h.01M8 15h8",
  branch: "M7 5v14M7 14c0-4 10-2 10-7M7 3m-2 2a2 2 0 1 0 4 0 2 2 0 1 0-4 0M5 20a2 2 0 1 0 4 0 2 2 0 1 0-4 0M15 6a2 2 0 1 0 4 0 2 2 0 1 0-4 0",
  graph: "M6 7m-3 0a3 3 0 1 0 6 0 3 3 0 1 0-6 0M18 6m-2 0a2 2 0 1 0 4 0 2 2 0 1 0-4 0M12 18m-3 0a3 3 0 1 0 6 0 3 3 0 1 0-6 0M9 7l7-1M7 10l4 5M17 8l-4 7",
  table: "M4 5h16v14H4zM4 10h16M4 15h16M10 5v14",
  json: "M9 4c-3 0-2 3-2 5s-1 3-3 3c2 0 3 1 3 3s-1 5 2 5M15 4c3 0 2 3 2 5s1 3 3 3c-2 0-3 1-3 3s1 5-2 5",
  plan: "M12 4v5M12 9H6v4M12 9h6v4M4 13h4v4H4zM16 13h4v4h-4zM10 2h4v4h-4z",
  play: "M7 4l13 8-13 8z",
  undo: "M9 5L4 10l5 5M4 10h10a6 6 0 0 1 0 12h-3",
  pin: "M12 3v10M8 13h8M9 3h6l-1 5 2 5H8l2-5zM12 13v8",
  close: "M5 5l14 14M19 5L5 19",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  save: "M12 3v12M7 10l5 5 5-5M4 20h16",
  more: "M12 5v14M5 12h14",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      class="icon"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="1.8"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
