"""A page of another site, in a real browser, can't change a graph that is served without tokens."""

import http.server
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.explorer.world import ADVISORY, GRAPH, Explorer

pytestmark = pytest.mark.xdist_group("explorer")

CHANGE = f'query judge() {{ update Advisory set {{ severity: "low" }} where code = "{ADVISORY}" }}'

SEND = """async ([url, change]) => {
  const text = JSON.stringify({ query: change });
  const row = '{"type": "Package", "data": {"name": "evil"}}';
  const form = new FormData();
  form.set("query", change);
  const bodies = {
    untyped: new Blob([text]),
    buffer: new TextEncoder().encode(text),
    plain: text,
    json: new Blob([text], { type: "application/json" }),
    lines: new Blob([row]),
    form,
    parameters: new URLSearchParams({ query: change }),
  };
  const said = {};
  for (const [name, body] of Object.entries(bodies))
    for (const path of [
      "mutate", "change", "load/ndjson", "load", "calls/mutate", "queries/any", "mcp"])
      for (const mode of ["no-cors", "cors"])
        try {
          const answer = await fetch(`${url}/${path}`, { method: "POST", mode, body });
          said[`${name} ${path} ${mode}`] = `${answer.type} ${answer.status}`;
        } catch (error) { said[`${name} ${path} ${mode}`] = "no answer"; }
  for (const body of [bodies.untyped, bodies.buffer, bodies.form])
    said.beacon = navigator.sendBeacon(`${url}/mutate`, body);
  for (const method of ["PUT", "DELETE"])
    try { await fetch(`${url}/branches/main`, { method }); said[method] = "answered"; }
    catch (error) { said[method] = "no answer"; }
  return said;
}"""
FORM = """([url, change, type]) => {
  const form = Object.assign(document.createElement("form"),
    { action: `${url}/mutate`, method: "post", enctype: type, target: "hidden" });
  const field = document.createElement("input");
  // As text, what a form sends reads as JSON: the name, an equals sign, the value.
  field.name = `{"query": ${JSON.stringify(change)}, "x": "`;
  field.value = '"}';
  form.append(field);
  document.body.append(form);
  form.submit();
}"""


class _Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<!doctype html><title>other</title><iframe name=hidden></iframe>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def other_site() -> Iterator[int]:
    """A page that anyone may have put on another port; the port."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_page_of_another_site_changes_nothing(
    explorer: Explorer, open_page: Callable[..., Page], host: str
) -> None:
    """Of another site (localhost), and of the same one by another port (127.0.0.1)."""
    before = explorer.graph.commits()
    with other_site() as port:
        page = open_page(f"http://{host}:{port}/", expected=("CORS", "Failed to load", "ERR_"))
        url = f"{explorer.url}/graphs/{GRAPH}"
        said = page.evaluate(SEND, [url, CHANGE])
        assert len(said) == 7 * 7 * 2 + 3
        # What was sent at all came back without anything that the page could read.
        assert {*said.values()} <= {"no answer", "opaque 0", True}
        assert "opaque 0" in said.values()
        for type_ in ("text/plain", "multipart/form-data", "application/x-www-form-urlencoded"):
            with page.expect_response("**/mutate") as answered:
                page.evaluate(FORM, [url, CHANGE, type_])
            assert answered.value.status == 403
    assert explorer.graph.commits() == before


def test_the_page_of_the_server_itself_changes_the_graph(
    explorer: Explorer, open_page: Callable[..., Page]
) -> None:
    """The refusals above are not for want of a server that writes."""
    page = open_page(explorer.address())
    before = len(explorer.graph.commits())
    answer = page.evaluate(
        """async ([url, change]) => (await fetch(url, { method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify({ query: change }) })).status""",
        [f"{explorer.url}/graphs/{GRAPH}/mutate", CHANGE],
    )
    assert (answer, len(explorer.graph.commits())) == (200, before + 1)
