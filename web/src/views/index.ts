/** All views. One is a folder here, a line in this table, and nothing else. */
import type { ComponentType } from "preact";
import { lazy } from "../parts/lazy";
import type { IconName } from "../parts/icons";

export interface View {
  readonly id: string;
  readonly label: string;
  /** Pressed after `g`. */
  readonly key: string;
  readonly icon: IconName;
  readonly Component: ComponentType;
  /** Whether it shows rows of a moment, so that the time slider is of use. */
  readonly isMomentary: boolean;
}

const later = (load: () => Promise<{ default: ComponentType }>): ComponentType => lazy(() => load().then((module) => module.default));

export const VIEWS: readonly View[] = [
  { id: "query", label: "Query", key: "q", icon: "query", isMomentary: true, Component: later(() => import("./query/view")) },
  { id: "find", label: "Find", key: "f", icon: "find", isMomentary: true, Component: later(() => import("./find/view")) },
  { id: "schema", label: "Schema", key: "s", icon: "schema", isMomentary: true, Component: later(() => import("./schema/view")) },
  { id: "history", label: "History", key: "h", icon: "history", isMomentary: false, Component: later(() => import("./history/view")) },
  { id: "review", label: "Review", key: "r", icon: "review", isMomentary: false, Component: later(() => import("./review/view")) },
  { id: "loads", label: "Loads", key: "l", icon: "loads", isMomentary: false, Component: later(() => import("./loads/view")) },
  { id: "indexes", label: "Indexes", key: "i", icon: "indexes", isMomentary: true, Component: later(() => import("./indexes/view")) },
  { id: "me", label: "Me", key: "m", icon: "me", isMomentary: false, Component: later(() => import("./me/view")) },
];
