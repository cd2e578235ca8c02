"""The files of a bundle: which of them there may be, and all of them together."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from omnigraph.base.errors import FileMissing
from omnigraph.base.span import SourceText, Span
from omnigraph.base.words import clipped, listed
from omnigraph.policy.bundle import Bundle
from omnigraph.policy.cedar_bundle import read_cedar_bundle
from omnigraph.policy.findings import Findings, Place
from omnigraph.policy.yaml_bundle import read_yaml_bundle

__all__ = ["bundle_of", "digest_of", "read_file"]

YAML_ENDINGS = (".yaml", ".yml")
CEDAR_ENDING = ".cedar"


def bundle_of(sources: Sequence[SourceText]) -> Bundle:
    """Raises PolicyInvalid with all findings."""
    findings = Findings()
    yaml = [source for source in sources if source.name.endswith(YAML_ENDINGS)]
    cedar = [source for source in sources if source.name.endswith(CEDAR_ENDING)]
    for source in sources:
        if source not in (*yaml, *cedar):
            message = f"a file of a policy ends in {listed((*YAML_ENDINGS, CEDAR_ENDING))}"
            findings.add("A002", Place(source, Span(1, 1)), message)
    for source in yaml[1:]:
        message = f"a bundle has one file of YAML, and {yaml[0].name} is one already"
        findings.add("A002", Place(source, Span(1, 1)), message, "join the two files")
    if not sources:
        findings.add("A002", Place(SourceText("", "<policy>"), Span(1, 1)), "no file was given")
    bundle = Bundle(tuple(sources))
    rules = [rule for source in cedar for rule in read_cedar_bundle(source, findings)]
    if yaml:
        part = read_yaml_bundle(yaml[0], findings)
        bundle = Bundle(
            bundle.sources,
            part.groups,
            part.attributes,
            part.attribute_kinds,
            part.protected_branches,
            (*part.rules, *rules),
        )
    else:
        bundle = Bundle(bundle.sources, rules=tuple(rules))
    _check_ids(bundle, findings)
    findings.raise_any()
    return bundle


def _check_ids(bundle: Bundle, findings: Findings) -> None:
    places: dict[str, Place] = {}
    for rule in bundle.rules:
        if rule.id in places:
            first = places[rule.id]
            where = f"{first.source.name}:{first.span.line}"
            message = f"there is another rule {clipped(rule.id)}, in {where}"
            findings.add("A005", rule.place, message, "give one of them another id")
        places.setdefault(rule.id, rule.place)


def read_file(path: Path) -> SourceText:
    source = SourceText("", str(path))
    findings = Findings()
    try:
        return SourceText(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError as error:
        raise FileMissing(path=str(path)) from error
    except (OSError, ValueError) as error:
        findings.add("A001", Place(source, Span(1, 1)), f"the file can't be read: {error}")
    findings.raise_any()
    raise AssertionError("a file that can't be read was a finding")


def digest_of(sources: Iterable[SourceText]) -> str:
    digest = hashlib.sha256()
    for source in sources:
        for part in (source.name, source.text):
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big"))
            digest.update(data)
    return digest.hexdigest()
