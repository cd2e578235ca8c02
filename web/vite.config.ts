import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { defineConfig, type Plugin } from "vite";

const here = import.meta.dirname;
const bundle = join(here, "../src/omnigraph/surfaces/explorer/bundle");
const server = process.env.OMNIGRAPH_SERVER ?? "http://127.0.0.1:8080";

/** Every file that the bundle is made of, as paths from here. */
function sources(): string[] {
  const single = ["index.html", "package.json", "package-lock.json", "vite.config.ts", "tsconfig.json"];
  const found = single.filter((name) => existsSync(join(here, name)));
  const walk = (folder: string): void => {
    for (const name of readdirSync(folder)) {
      const path = join(folder, name);
      if (statSync(path).isDirectory()) walk(path);
      else found.push(relative(here, path).split(sep).join("/"));
    }
  };
  walk(join(here, "src"));
  // By code unit, not by locale: a test in Python sorts the same way.
  return found.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
}

/** Notes what the bundle was made of, so that a test can say when it is stale. */
function digest(): Plugin {
  return {
    name: "digest-of-sources",
    apply: "build",
    closeBundle() {
      const hash = createHash("sha256");
      for (const path of sources()) {
        hash.update(path).update("\0").update(readFileSync(join(here, path))).update("\0");
      }
      writeFileSync(join(bundle, "sources.sha256"), `${hash.digest("hex")}\n`);
    },
  };
}

export default defineConfig({
  base: "/explore/",
  plugins: [digest()],
  build: {
    outDir: bundle,
    emptyOutDir: true,
    // One sheet, from style.css and the style.css of each view.
    cssCodeSplit: false,
    sourcemap: false,
    target: "es2022",
    modulePreload: { polyfill: false },
    // The page forbids data: addresses, and there is nothing small enough to matter.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 700,
  },
  server: {
    proxy: Object.fromEntries(
      ["/graphs", "/healthz", "/me"].map((path) => [path, server]),
    ),
  },
});
