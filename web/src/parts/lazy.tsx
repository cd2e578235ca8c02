/** A heavy part, fetched when it is first shown. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { lost } from "../api/link";
import { Waiting } from "./states";

export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let found: ComponentType<P> | null = null;
  return function Later(props: P) {
    const [, redraw] = useState(0);
    useEffect(() => {
      if (found !== null) return;
      let isWanted = true;
      load().then(
        (module) => {
          found = module;
          if (isWanted) redraw((count) => count + 1);
        },
        // A browser remembers a module that failed: the page loads anew when the server is back.
        () => void lost().then(() => isWanted && location.reload()),
      );
      return () => {
        isWanted = false;
      };
    }, []);
    const Found = found;
    return Found === null ? <Waiting /> : <Found {...props} />;
  };
}
