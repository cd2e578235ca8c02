"""The Explorer: a page in a browser. `web/` is built into `bundle/`, which is checked in."""
