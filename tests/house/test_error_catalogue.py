"""`docs/errors.md` is made from the error tree: codes, classes, exit codes and statuses.

`pytest --bless tests/house/test_error_catalogue.py` writes it anew.
"""

from collections.abc import Iterator
from pathlib import Path

from omnigraph.base import errors
from omnigraph.base.errors import OmnigraphError
from omnigraph.base.errors.codes import ERROR_CODES
from omnigraph.surfaces.wire import EXIT_CODES, HTTP_STATUS, HTTP_STATUS_OF_CODE

PAGE = Path(__file__).parents[2] / "docs/errors.md"

HEAD = """\
# Errors

Every error is an `OmnigraphError` with `.code`, `.message`, `.details` and `.hint`. The command
line prints the message with the hint, or with `--json` one document
`{"error", "code", "details", "hint"}`. Python programs import the classes from `omnigraph.errors`:
match the class or the code, never the text. The branch of the tree says what you can do.

| branch | do | exit code | HTTP |
|---|---|---|---|
"""
AFTER_BRANCHES = """\

Wrong usage of the command line (an unknown option, say) exits with 2. The code `internal` is a
defect of ours; `OMNIGRAPH_DEBUG=1` shows where. The languages' own codes are listed with the
languages: [schema](user/schema-language.md), [migration](user/migrations.md),
[query](user/query-language.md#errors), [lint](user/lint.md).
"""
# Where to read on, if a page says what to do.
MORE = {
    "constraint_violation": "user/data-quality.md",
    "embed_provider_missing": "user/embeddings.md",
    "file_not_allowed": "user/server.md#large-loads",
    "graph_moved": "user/moving.md",
    "invalid_configuration": "user/configuration.md",
    "local_only": "user/client.md#what-differs",
    "merge_conflicts": "user/branches.md#conflicts",
    "part_damaged": "user/server.md#large-loads",
    "policy_in_use": "user/policy.md#schemas",
    "recovery_required": "user/maintenance.md#when-files-and-commits-disagree",
    "spool_full": "user/server.md#large-loads",
    "too_many_requests": "user/server.md#limits",
}


def leaves() -> list[type[OmnigraphError]]:
    """The classes that are raised: those with a code of their own."""
    known = [getattr(errors, name) for name in errors.__all__]
    return [
        each
        for each in known
        if isinstance(each, type)
        and issubclass(each, OmnigraphError)
        and each not in EXIT_CODES
        and each.code != OmnigraphError.code
    ]


def page() -> Iterator[str]:
    yield HEAD
    for branch, exit_code in EXIT_CODES.items():
        do = _what_to_do(branch)
        yield f"| `{branch.__name__}` | {do} | {exit_code} | {HTTP_STATUS[branch]} |\n"
    yield AFTER_BRANCHES
    for branch in EXIT_CODES:
        yield f"\n## {branch.__name__}\n\n{_what_to_do(branch).capitalize()}.\n\n"
        yield "| code | classes | HTTP | meaning |\n|---|---|---|---|\n"
        for code, meaning in ERROR_CODES.items():
            classes = [each for each in leaves() if each.code == code and issubclass(each, branch)]
            if classes:
                names = ", ".join(f"`{each.__name__}`" for each in classes)
                status = HTTP_STATUS_OF_CODE.get(code, HTTP_STATUS[branch])
                more = f" [More]({MORE[code]})" if code in MORE else ""
                yield f"| `{code}` | {names} | {status} | {meaning}{more} |\n"


def _what_to_do(branch: type[OmnigraphError]) -> str:
    said = (branch.__doc__ or "").removesuffix(".")
    return said[0].lower() + said[1:]


def test_the_page_lists_every_error_as_it_is(is_blessing: bool) -> None:
    made = "".join(page())
    if is_blessing:
        PAGE.write_text(made)
    assert PAGE.read_text() == made


def test_every_code_of_a_class_has_a_meaning_and_every_meaning_a_class() -> None:
    assert set(ERROR_CODES) == {each.code for each in leaves()} | {OmnigraphError.code}
    assert set(MORE) <= set(ERROR_CODES)
