"""A page of HTML as a reader of it sees it: its elements, its texts, and nothing that runs."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

__all__ = ["Page", "page_of"]

TABLES = "code div em p table tbody td th thead tr"
PICTURES = "circle defs g marker path rect style svg text title tspan"
ELEMENTS = frozenset(f"{TABLES} {PICTURES}".split(" "))
"""All that our pages are made of: nothing of it loads or runs anything."""


@dataclass
class Page(HTMLParser):
    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def count(self, tag: str, **attributes: str) -> int:
        return sum(
            tag == name and attributes.items() <= found.items() for name, found in self.elements
        )

    @property
    def text(self) -> str:
        return "\n".join(self.texts)


def page_of(shown: Any) -> Page:
    """What a notebook shows of a result, read again; it holds nothing that runs or is fetched."""
    html = shown if isinstance(shown, str) else shown._repr_html_()
    page = Page()
    page.feed(html)
    page.close()
    assert {tag for tag, _ in page.elements} <= ELEMENTS
    for _, attributes in page.elements:
        assert not any(name.startswith("on") or "href" in name for name in attributes)
        for name, value in attributes.items():
            is_address = "//" in (value or "") or "url(" in (value or "")
            assert not is_address or name == "xmlns" or (value or "").startswith("url(#og-")
    return page
