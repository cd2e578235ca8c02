"""A schema drawn: Mermaid text and SVG."""
