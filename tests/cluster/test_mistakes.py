"""A folder with every kind of mistake: each is told with its file, line and column, all at once."""

import os
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.base.errors import ClusterInvalid
from omnigraph.cluster.codes import CODES
from omnigraph.cluster.folder import read_folder, storage_of
from tests.cluster.world import LISTERS, NAMES, PERSON, READERS

HEAD = "version: 1\nmetadata: {name: brain}\n"
ONE = f"{HEAD}graphs:\n  people: {{schema: person.pg}}\n"
FILES = {
    "person.pg": PERSON,
    "bad.pg": "node Person { name: Strin @key }\n",
    "latin.pg": "node Caf\xe9 { name: String @key }\n",
    "names.gq": NAMES,
    "again.gq": NAMES,
    "broken.gq": "query names( { }\n",
    "misfit.gq": "query misfit() { match { $p: Persn } return { $p.name } }\n",
    "q/names.gq": NAMES,
    "empty/readme.txt": "",
    "read.yaml": READERS,
    "list.yaml": LISTERS,
    "misfit.yaml": READERS.replace(
        "actions: [read, invoke_query, schema_apply]", "types: [Pet], actions: [read]"
    ),
    "wrong.yaml": "version: 1\nrules: 3\n",
    "policy.txt": READERS,
}

# What is wrong, the text of cluster.yaml, and the code and the place of the finding.
MISTAKES: dict[str, tuple[str, str, str]] = {
    "no yaml": ("a: [", "K001", "cluster.yaml:1:5"),
    "a key twice": (f"{ONE}version: 1\n", "K001", "cluster.yaml:5:1"),
    "a graph twice": (f"{ONE}  people: {{schema: a}}\n", "K001", "cluster.yaml:5:3"),
    "an anchor": (f"{HEAD}graphs: &a {{}}\n", "K001", "cluster.yaml:3:9"),
    "an alias": (f"{HEAD}storage: *a\ngraphs: {{}}\n", "K001", "cluster.yaml:3:10"),
    "a tag": (f"{HEAD}graphs: !!map {{}}\n", "K001", "cluster.yaml:3:9"),
    "an odd boolean": (f"{ONE}state: {{lock: yes}}\n", "K001", "cluster.yaml:5:15"),
    "a list": ("- version: 1\n", "K004", "cluster.yaml:1:1"),
    "an empty file": ("", "K004", "cluster.yaml:1:1"),
    "no version": ("metadata: {name: b}\ngraphs: {}\n", "K005", "cluster.yaml:1:1"),
    "no name": ("version: 1\nmetadata: {}\ngraphs: {}\n", "K005", "cluster.yaml:2:11"),
    "no graphs": (HEAD, "K005", "cluster.yaml:1:1"),
    "another version": (ONE.replace("1", "2", 1), "K004", "cluster.yaml:1:10"),
    "a version in quotes": (ONE.replace("1", '"1"', 1), "K004", "cluster.yaml:1:10"),
    "an unknown field": (f"{ONE}polices: {{}}\n", "K002", "cluster.yaml:5:1"),
    "pipelines": (f"{ONE}pipelines: {{}}\n", "K003", "cluster.yaml:5:1"),
    "ui": (f"{ONE}ui: {{}}\n", "K003", "cluster.yaml:5:1"),
    "aliases": (f"{ONE}aliases: {{}}\n", "K003", "cluster.yaml:5:1"),
    "bindings of a graph": (
        f"{HEAD}graphs:\n  people: {{schema: person.pg, bindings: 1}}\n",
        "K003",
        "cluster.yaml:4:31",
    ),
    "a value left out": (f"{HEAD}graphs:\n", "K004", "cluster.yaml:3:1"),
    "graphs as a list": (f"{HEAD}graphs: [people]\n", "K004", "cluster.yaml:3:9"),
    "a graph as text": (f"{HEAD}graphs: {{people: person.pg}}\n", "K004", "cluster.yaml:3:18"),
    "a name with a dot": (f"{HEAD}graphs: {{a.b: {{schema: person.pg}}}}\n", "K004", ":3:10"),
    "a graph called cluster": (
        f"{HEAD}graphs: {{cluster: {{schema: person.pg}}}}\n",
        "K004",
        "cluster.yaml:3:10",
    ),
    "two names in one spelling": (
        f"{ONE}  People: {{schema: person.pg}}\n",
        "K008",
        "cluster.yaml:5:3",
    ),
    "a graph without a schema": (f"{HEAD}graphs:\n  people: {{}}\n", "K005", ":4:11"),
    "a schema as a list": (f"{HEAD}graphs:\n  p: {{schema: [a]}}\n", "K004", ":4:15"),
    "a schema that is missing": (f"{HEAD}graphs:\n  p: {{schema: no.pg}}\n", "K006", ":4:15"),
    "a schema that is a folder": (f"{HEAD}graphs:\n  p: {{schema: q}}\n", "K006", ":4:15"),
    "a schema of queries": (f"{HEAD}graphs:\n  p: {{schema: names.gq}}\n", "K006", ":4:15"),
    "a path that leaves": (f"{HEAD}graphs:\n  p: {{schema: ../person.pg}}\n", "K006", ":4:15"),
    "a path from the root": (f"{HEAD}graphs:\n  p: {{schema: /etc/a.pg}}\n", "K006", ":4:15"),
    "a schema with a mistake": (f"{HEAD}graphs:\n  p: {{schema: bad.pg}}\n", "S0", "bad.pg:1:21"),
    "queries as a number": (
        f"{HEAD}graphs:\n  p: {{schema: person.pg, queries: 3}}\n",
        "K004",
        "cluster.yaml:4:35",
    ),
    "a folder without queries": (
        f"{HEAD}graphs:\n  p: {{schema: person.pg, queries: empty}}\n",
        "K006",
        "cluster.yaml:4:35",
    ),
    "queries that can't be read": (
        f"{HEAD}graphs:\n  p: {{schema: person.pg, queries: [broken.gq]}}\n",
        "Q0",
        "broken.gq:1:14",
    ),
    "a query that does not fit": (
        f"{HEAD}graphs:\n  p: {{schema: person.pg, queries: [misfit.gq]}}\n",
        "T1",
        "misfit.gq:1:30",
    ),
    "a query twice": (
        f"{HEAD}graphs:\n  p: {{schema: person.pg, queries: [names.gq, again.gq]}}\n",
        "K008",
        "cluster.yaml:4:46",
    ),
    "a query that its file lacks": (
        f"{HEAD}graphs:\n  p: {{schema: person.pg, queries: {{all: {{file: names.gq}}}}}}\n",
        "K007",
        "cluster.yaml:4:36",
    ),
    "a query without a file": (
        f"{HEAD}graphs:\n  p: {{schema: person.pg, queries: {{all: {{}}}}}}\n",
        "K005",
        "cluster.yaml:4:41",
    ),
    "a provider that nobody declares": (
        f"{HEAD}graphs:\n  p: {{schema: person.pg, embedding_provider: mini}}\n",
        "K007",
        "cluster.yaml:4:46",
    ),
    "a provider of no kind": (
        f"{ONE}providers: {{embedding: {{m: {{provider: opnai}}}}}}\n",
        "K004",
        "cluster.yaml:5:39",
    ),
    "a provider of something else": (f"{ONE}providers: {{chat: {{}}}}\n", "K002", ":5:13"),
    "gemini without a key": (
        f"{ONE}providers: {{embedding: {{m: {{provider: gemini}}}}}}\n",
        "K005",
        "cluster.yaml:5:28",
    ),
    "an API of others without a key": (
        f"{ONE}providers: {{embedding: {{m: {{provider: openai-compatible, model: x}}}}}}\n",
        "K005",
        "cluster.yaml:5:28",
    ),
    "a key in clear": (
        f"{ONE}providers: {{embedding: {{m: {{provider: gemini, api_key: sk-123}}}}}}\n",
        "K009",
        "cluster.yaml:5:56",
    ),
    "a URL that is none": (
        f"{ONE}providers: {{embedding: {{m: {{provider: gemini, base_url: here}}}}}}\n",
        "K004",
        "cluster.yaml:5:57",
    ),
    "a password in a URL": (
        f"{ONE}providers: {{embedding: {{m: {{provider: gemini, base_url: https://a:b@c}}}}}}\n",
        "K009",
        "cluster.yaml:5:57",
    ),
    "a time of no seconds": (
        f"{ONE}providers: {{embedding: {{m: {{provider: mock, timeout_s: 0}}}}}}\n",
        "K004",
        "cluster.yaml:5:56",
    ),
    "half a character": (
        f"{ONE}providers: {{embedding: {{m: {{provider: mock, max_characters: 1.5}}}}}}\n",
        "K004",
        "cluster.yaml:5:61",
    ),
    "a policy without a file": (
        f"{ONE}policies: {{r: {{applies_to: [people]}}}}\n",
        "K005",
        ":5:15",
    ),
    "a policy for nobody": (
        f"{ONE}policies: {{r: {{file: read.yaml, applies_to: []}}}}\n",
        "K004",
        "cluster.yaml:5:45",
    ),
    "a policy for a graph that is not there": (
        f"{ONE}policies: {{r: {{file: read.yaml, applies_to: [peple]}}}}\n",
        "K007",
        "cluster.yaml:5:46",
    ),
    "a policy for a graph and the cluster": (
        f"{ONE}policies: {{r: {{file: list.yaml, applies_to: [people, cluster]}}}}\n",
        "K004",
        "cluster.yaml:5:46",
    ),
    "two policies for a graph": (
        f"{ONE}policies:\n  r: {{file: read.yaml, applies_to: [people]}}\n"
        "  s: {file: read.yaml, applies_to: [people]}\n",
        "K008",
        "cluster.yaml:7:37",
    ),
    "a policy of another ending": (
        f"{ONE}policies: {{r: {{file: policy.txt, applies_to: [people]}}}}\n",
        "K006",
        "cluster.yaml:5:22",
    ),
    "a policy with a mistake": (
        f"{ONE}policies: {{r: {{file: wrong.yaml, applies_to: [people]}}}}\n",
        "A004",
        "wrong.yaml:2:8",
    ),
    "a policy that does not fit": (
        f"{ONE}policies: {{r: {{file: misfit.yaml, applies_to: [people]}}}}\n",
        "A012",
        "misfit.yaml:3:47",
    ),
    "another backend": (f"{ONE}state: {{backend: s3}}\n", "K004", "cluster.yaml:5:18"),
    "no lock": (f"{ONE}state: {{lock: false}}\n", "K004", "cluster.yaml:5:15"),
    "storage that is no place": (f"{ONE}storage: gs://b/a\n", "K004", "cluster.yaml:5:10"),
    "storage of nobody": (f"{ONE}storage: ~nobody-at-all/a\n", "K004", "cluster.yaml:5:10"),
    "storage of a variable": (f"{ONE}storage: $HOME/a\n", "K004", "cluster.yaml:5:10"),
    "storage that is nearly an address": (f"{ONE}storage: s3:/b/a\n", "K004", "cluster.yaml:5:10"),
    "a path too long": (f"{HEAD}graphs:\n  p: {{schema: {'a' * 300}.pg}}\n", "K006", ":4:15"),
    "a folder too long": (
        f"{HEAD}graphs:\n  p: {{schema: person.pg, queries: {'a' * 300}}}\n",
        "K006",
        "cluster.yaml:4:35",
    ),
    "storage as a mapping": (f"{ONE}storage: {{root: a}}\n", "K004", "cluster.yaml:5:10"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("folder")
    for name, text in FILES.items():
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text(text, encoding="latin-1")
    return path


def findings(folder: Path, text: str) -> list[tuple[str, str]]:
    (folder / "cluster.yaml").write_text(text)
    with pytest.raises(ClusterInvalid) as invalid:
        read_folder(folder)
    assert "Traceback" not in invalid.value.render() and "sk-123" not in str(invalid.value)
    return [(each.diagnostic.code, each.position) for each in invalid.value.findings]


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_is_told_with_its_place(folder: Path, what: str) -> None:
    text, code, position = MISTAKES[what]
    found = findings(folder, text)
    assert any(c.startswith(code) and at.endswith(position) for c, at in found), found


def test_every_code_is_of_a_mistake_above() -> None:
    assert {code for _, code, _ in MISTAKES.values() if code[0] == "K"} == set(CODES)


def test_the_page_explains_every_code() -> None:
    page = (Path(__file__).parents[2] / "docs/user/deployments.md").read_text()
    for code, meaning in CODES.items():
        assert f"| `{code}` | {meaning} |" in page


def test_all_mistakes_of_all_files_are_told_at_once(folder: Path) -> None:
    text = (
        "version: 2\nmetadata: {name: brain, owner: a}\nui: 1\ngraphs:\n  a: {schema: bad.pg}\n"
        "  b: {schema: person.pg, queries: [misfit.gq]}\n"
    )
    codes = [code for code, _ in findings(folder, text)]
    assert codes[:3] == ["K004", "K002", "K003"]
    assert len(codes) == 5


def test_a_file_in_another_encoding_is_told(folder: Path) -> None:
    [(code, position)] = findings(folder, f"{HEAD}graphs:\n  p: {{schema: latin.pg}}\n")
    assert code == "S000" and position.endswith("latin.pg:1:9")


KEYS = [
    "version",
    "metadata",
    "name",
    "storage",
    "graphs",
    "p",
    "schema",
    "queries",
    "file",
    "policies",
    "applies_to",
]
WORDS = [*KEYS, "person.pg", "names.gq", "q", "read.yaml", "cluster", "providers", "embedding"]
WORDS += ["provider", "mock", "api_key", "${K}", "state", "lock", "../x", "\0", "", "\ud7ff"]
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from(WORDS))
trees = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(WORDS), inner, max_size=4)
    ),
)


@given(st.one_of(st.text(), trees.map(yaml.safe_dump)))
@settings(max_examples=60)
def test_whatever_is_written_is_read_or_refused_in_words(folder: Path, text: str) -> None:
    (folder / "cluster.yaml").write_text(text, encoding="utf-8", errors="surrogatepass")
    try:
        read_folder(folder)
    except ClusterInvalid as invalid:
        assert invalid.findings


@given(st.dictionaries(st.sampled_from(["metadata", "storage", "graphs", "policies"]), trees))
@settings(max_examples=60)
def test_whatever_stands_in_a_field_is_read_or_refused_in_words(
    folder: Path, fields: dict[str, object]
) -> None:
    whole = {"version": 1, "metadata": {"name": "b"}, "graphs": {"p": {"schema": "person.pg"}}}
    (folder / "cluster.yaml").write_text(yaml.safe_dump({**whole, **fields}))
    try:
        read_folder(folder)
    except ClusterInvalid as invalid:
        assert invalid.findings


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ClusterInvalid, match="no such file") as missing:
        read_folder(tmp_path / "nowhere")
    assert "--config" in (missing.value.hint or "")


@pytest.mark.parametrize("name", ["x" * 300, "file/below", "loop"])
def test_a_path_that_leads_nowhere_is_a_finding(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(ClusterInvalid) as invalid:
        read_folder(tmp_path / name)
    assert [finding.diagnostic.code for finding in invalid.value.findings] == ["K001"]


def test_a_pipe_in_place_of_the_configuration_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "cluster.yaml")
    with pytest.raises(ClusterInvalid, match="not a regular file"):
        read_folder(tmp_path)


def test_only_files_of_a_directory_of_queries_are_read(tmp_path: Path) -> None:
    (tmp_path / "q" / "folder.gq").mkdir(parents=True)
    os.mkfifo(tmp_path / "q" / "pipe.gq")
    (tmp_path / "person.pg").write_text(PERSON)
    found = findings(tmp_path, f"{HEAD}graphs:\n  p: {{schema: person.pg, queries: q}}\n")
    assert [code for code, _ in found] == ["K006", "K006"]


@pytest.mark.parametrize(
    "queries", ["q", "[q/names.gq]", "{names: {file: names.gq}}", "names.gq"], ids=str
)
def test_queries_are_a_folder_a_list_or_a_map(folder: Path, queries: str) -> None:
    text = f"{HEAD}graphs:\n  p: {{schema: person.pg, queries: {queries}}}\n"
    (folder / "cluster.yaml").write_text(text)
    assert list(read_folder(folder).signatures) == ["query.p.names"]


@pytest.mark.parametrize(
    "line",
    [
        "api_key: sk-SECRET",
        "api_key: {a: sk-SECRET}",
        "api_key:\n        sk-SECRET",
        "api_key: @SECRET",
        'api_key: "${KEY}SECRET"',
        "key: SECRET",
        "api_key: 1234567",
        "api_key: &SECRET a",
        "api_key: *SECRET",
        "api_key: !SECRET a",
        "api_key: 01234567",
        "api_key:\n        from:\n          a: SECRET\n          a: SECRET",
        "api_key:\n      - SECRET\n      - &a SECRET",
        "? api_key\n      : &a SECRET",
        "authorization: Bearer SECRET",
        "credentials: SECRET",
        "pwd: SECRET",
        '"api_key":"SECRET", "schema": 3',
        "model: *a  # the token: SECRET",
        'base_url: "https://ada:SECRET@host/"',
        'base_url: "https://host/?k=SECRET"',
        'base_url: "https://host/#SECRET"',
    ],
)
def test_a_key_that_stands_in_clear_is_not_shown(folder: Path, line: str) -> None:
    provider = f"providers:\n  embedding:\n    mini:\n      provider: mock\n      {line}\n"
    (folder / "cluster.yaml").write_text(ONE + provider)
    with pytest.raises(ClusterInvalid) as invalid:
        read_folder(folder)
    for shown in (str(invalid.value), invalid.value.render(), repr(invalid.value.details)):
        assert "SECRET" not in shown and "1234567" not in shown


@pytest.mark.parametrize("storage", ["s3://a:SECRET@bucket/x", "s3://bucket/x?key=SECRET"])
def test_a_secret_in_an_address_of_the_storage_is_not_shown(folder: Path, storage: str) -> None:
    (folder / "cluster.yaml").write_text(f"{ONE}storage: {storage}\n")
    with pytest.raises(ClusterInvalid) as invalid:
        read_folder(folder)
    assert "SECRET" not in f"{invalid.value.render()}{invalid.value.details!r}"


def test_what_is_named_like_a_secret_and_declares_something_is_shown(folder: Path) -> None:
    graphs = "  keys: {schema: no.pg}\n  authors:\n    queries: 3\n    schema: no.pg\n"
    (folder / "cluster.yaml").write_text(f"{HEAD}graphs:\n{graphs}")
    with pytest.raises(ClusterInvalid) as invalid:
        read_folder(folder)
    shown = invalid.value.render()
    for line in graphs.replace("  authors:\n", "").splitlines():
        assert line.strip() in shown


@pytest.mark.parametrize(
    "written",
    [
        "storage: 5",
        "storage: [a]",
        "storage: gs://a",
        "storage: s3://",
        "storag: a",
        "storage: ' '",
    ],
)
def test_the_folder_is_not_taken_for_a_storage_that_is_misspelt(folder: Path, written: str) -> None:
    (folder / "cluster.yaml").write_text(f"{ONE}{written}\n")
    with pytest.raises(ClusterInvalid, match=r"cluster\.yaml:5:"):
        storage_of(folder)


def test_the_storage_is_known_whatever_else_is_wrong(folder: Path) -> None:
    (folder / "cluster.yaml").write_text(f"{ONE}storage: there\npolices: 1\n")
    assert storage_of(folder) == str((folder / "there").resolve())


@pytest.mark.parametrize("given", ["schema: link.pg", "schema: person.pg, queries: linked"])
def test_a_link_that_leads_out_of_the_folder_is_told(folder: Path, given: str) -> None:
    outside = folder.parent / "outside"
    outside.write_text(NAMES)
    (folder / "linked").mkdir()
    links = [folder / "link.pg", folder / "linked/names.gq"]
    for link in links:
        link.symlink_to(outside)
    (folder / "cluster.yaml").write_text(f"{HEAD}graphs:\n  people: {{{given}}}\n")
    try:
        with pytest.raises(ClusterInvalid, match=r"K006.*outside the folder"):
            read_folder(folder)
    finally:
        for link in links:
            link.unlink()
        (folder / "linked").rmdir()


def test_a_query_has_the_name_that_its_file_gives_it(folder: Path) -> None:
    names = ("_names", "Names", "n" * 70)
    (folder / "odd.gq").write_text(
        "".join(NAMES.replace("names", name) for name in (*names, "names"))
    )
    listed = ", ".join(f"{name}: {{file: odd.gq}}" for name in (*names, "names"))
    found = []
    for queries in ("odd.gq", f"{{{listed}}}"):
        graph = f"people: {{schema: person.pg, queries: {queries}}}"
        (folder / "cluster.yaml").write_text(f"{HEAD}graphs:\n  {graph}\n")
        found.append(read_folder(folder).resources)
    assert found[0] == found[1] and len(found[0]) == 6
