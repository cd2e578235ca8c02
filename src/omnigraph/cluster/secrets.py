"""What may be a secret in a text that is shown, such as the line of a mistake in a log of CI."""

import re

__all__ = ["without_secrets"]

# A key whose name ends so, with its value, which may stand on the next line. All is bounded: a file
# may be large.
KEYED = re.compile(
    r"""(?P<name>(?:key|token|secret|passw)[\w-]{0,20}["']?\s{0,9}:\s{1,99})(?P<value>[^\n]*)""",
    re.IGNORECASE,
)
VARIABLE = re.compile(r"""["']?\$\{\w+\}["']?\s*(?:[,}#].*)?""")
ADDRESS = re.compile(r"base_url[^\n]*")
IN_AN_ADDRESS = re.compile(r"""(?<=://)[^/\s"']*(?=@)|(?<=[?#])[^\s"',}]+""")


def without_secrets(text: str) -> str:
    """The text, as long as it was, with stars for what may be a secret."""
    lines = KEYED.sub(_hidden, text)
    return ADDRESS.sub(lambda found: IN_AN_ADDRESS.sub(_stars, found[0]), lines)


def _hidden(found: re.Match[str]) -> str:
    name, value = found["name"], found["value"]
    # A graph may be called `keys`: what it declares is no secret.
    is_mapping = value.startswith("{") and "schema" in value
    is_kept = is_mapping or VARIABLE.fullmatch(value) is not None
    return name + (value if is_kept else "*" * len(value))


def _stars(found: re.Match[str]) -> str:
    return "*" * len(found[0])
