"""What a person has configured stands in for what they leave out, and never for what they say."""

import io
import json
import re
import stat
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.base.errors import ConfigurationInvalid
from omnigraph.engine.settings import TokenSources
from omnigraph.surfaces.cli.configuration.credentials import forget_token, keep_token, origin_of
from omnigraph.surfaces.cli.configuration.file import read_config
from omnigraph.surfaces.cli.output import Format
from omnigraph.surfaces.server.access import DefaultDeny
from omnigraph.surfaces.server.tokens import read_tokens
from tests.surfaces.cli import CommandLine
from tests.surfaces.client.served import answering, served
from tests.surfaces.server.world import serve_here

SCHEMA = "node Person { name: String @key }"
ADD = 'query a() { insert Person { name: "Ada" } }'
NAMES = "query n() { match { $p: Person } return { $p.name } }"
PAGE = Path(__file__).parents[2] / "docs/user/configuration.md"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home, three graphs in it, and no environment that says more."""
    for name in ("OMNIGRAPH_TOKEN", "OMNIGRAPH_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMNIGRAPH_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in ("said", "profiled", "usual"):
        Graph.init(tmp_path / f"{name}.omni", SCHEMA)
    return tmp_path


def configure(home: Path, text: str) -> None:
    (home / "config.yaml").write_text(text)


CONFIG = """
operator: {actor: ada}
defaults: {store: ~/usual.omni, format: csv}
profiles:
  one: {store: ~/profiled.omni, actor: bob, format: jsonl}
  two: {store: ~/said.omni}
aliases:
  names: [query, -e, "query n() { match { $p: Person } return { $p.name } }"]
  query: branch list
"""


def used(omnigraph: CommandLine, *words: str) -> tuple[str, str | None]:
    """The graph that a mutation went to, and who is said to have made it."""
    made = omnigraph("mutate", "-e", ADD, *words)
    assert made.exit_code == 0, made.err
    name = re.search(r"(\w+)\.omni", made.err)
    assert name is not None
    return name[1], Graph.open(f"{name[1]}.omni").commits()[0].actor_id


@pytest.mark.parametrize(
    ("words", "profile", "graph", "actor"),
    [
        ([], None, "usual", "ada"),
        ([], "one", "profiled", "bob"),
        (["--profile", "two"], "one", "said", "ada"),
        (["--store", "said.omni"], "one", "said", "ada"),
        (["--store", "said.omni", "--as", "eve"], None, "said", "eve"),
        (["--profile", "one", "--as", "eve"], None, "profiled", "eve"),
    ],
)
def test_the_first_that_names_a_graph_is_minded(
    omnigraph: CommandLine,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    profile: str | None,
    graph: str,
    actor: str,
) -> None:
    configure(home, CONFIG)
    if profile is not None:
        monkeypatch.setenv("OMNIGRAPH_PROFILE", profile)
    assert used(omnigraph, *words) == (graph, actor)


def test_a_default_profile_is_minded(omnigraph: CommandLine, home: Path) -> None:
    configure(home, CONFIG.replace("store: ~/usual.omni", "profile: one"))
    assert used(omnigraph) == ("profiled", "bob")


def test_rows_are_printed_as_configured_unless_the_command_says_how(
    omnigraph: CommandLine, home: Path
) -> None:
    configure(home, CONFIG)
    used(omnigraph)
    used(omnigraph, "--profile", "one")
    assert omnigraph("query", "-e", NAMES).out == "p.name\nAda\n"
    assert omnigraph("query", "-e", NAMES, "--profile", "one").out == '{"p.name": "Ada"}\n'
    assert omnigraph("query", "-e", NAMES, "--format", "kv").out == "p.name: Ada\n"


def test_an_alias_is_typed_like_a_command_and_never_hides_one(
    omnigraph: CommandLine, home: Path
) -> None:
    configure(home, CONFIG)
    used(omnigraph)
    assert omnigraph("names", "--format", "kv").out == "p.name: Ada\n"
    assert omnigraph("query", "-e", NAMES).out == "p.name\nAda\n"


def test_commands_over_files_take_no_graph_that_they_were_not_told(
    omnigraph: CommandLine, home: Path
) -> None:
    configure(home, CONFIG.replace("usual", "nowhere"))
    (home / "a.pg").write_text(SCHEMA)
    (home / "a.gq").write_text(NAMES)
    assert omnigraph("lint", "--schema", "a.pg", "a.gq").exit_code == 0
    assert omnigraph("schema", "diagram", "a.pg").exit_code == 0
    assert omnigraph("schema", "plan", "a.pg", "a.pg").exit_code == 0
    assert omnigraph("lint", "a.gq", "--profile", "one").exit_code == 0


def test_init_is_told_where(omnigraph: CommandLine, home: Path) -> None:
    configure(home, CONFIG.replace("usual", "new"))
    (home / "a.pg").write_text(SCHEMA)
    assert omnigraph("init", "--schema", "a.pg").exit_code == 2
    assert not (home / "new.omni").exists()


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        (
            "operater: {actor: ada}",
            "config.yaml:1:1: operater is not known (did you mean operator?)",
        ),
        ("profiles: {a: {sotre: /x}}", "sotre is not known (did you mean store?)"),
        ("defaults: {colour: red}", "known here: store, server, graph, actor, format, profile"),
    ],
)
def test_an_unknown_key_is_a_warning_with_the_nearest_known(
    omnigraph: CommandLine, home: Path, text: str, warned: str
) -> None:
    configure(home, text)
    answer = omnigraph("branch", "list", "--store", "usual.omni", "--json")
    assert answer.json == {"branches": ["main"]}
    assert warned in answer.err and answer.err.count("warning") == 1


@pytest.mark.parametrize(
    ("text", "place", "told"),
    [
        ("operator: 7", ":1:11:", "names with values"),
        ("operator:\n  actor: [a]", ":2:10:", "a text must stand here"),
        ("defaults: {store: g.omni}", ":1:19:", "begin it with / or ~/"),
        ("defaults: {store: /g, server: s}", ":1:31:", "leave out one"),
        ("defaults: {format: xml}", ":1:20:", "table, json, jsonl, csv, kv, arrow or parquet"),
        ("servers: {a: {}}", ":1:14:", "a server has a url"),
        ("servers: {a: {url: host}}", ":1:20:", "a server has a url"),
        ('aliases: {a: "x \'y"}', ":1:14:", "a quote has no end"),
        ("aliases: {a: []}", ":1:14:", "is empty"),
        ("a: 1\na: 2", ":2:1:", "comes twice"),
        ("a: [", ":1:5:", "not valid YAML"),
    ],
)
def test_a_wrong_configuration_is_an_error_with_its_place(
    omnigraph: CommandLine, home: Path, text: str, place: str, told: str
) -> None:
    configure(home, text)
    with pytest.raises(ConfigurationInvalid):
        read_config(home)
    refused = omnigraph("branch", "list", "--store", "usual.omni")
    assert refused.exit_code == 1
    assert place in refused.err and told in refused.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("branch list --profile onne", "did you mean one?"),
        ("branch list --server prdo --graph x", "did you mean prod?"),
        ("profile show onne", "did you mean one?"),
        ("branch list --profile one --store x", "name the graph once"),
        ("branch list --profile one --server prod", "name the graph once"),
        ("branch list --profile one --graph x", "give --server too"),
        ("branch list --server prod", "say which graph"),
        ("login prdo", "did you mean prod?"),
    ],
)
def test_a_name_that_is_not_configured_is_told_with_the_nearest(
    omnigraph: CommandLine, home: Path, words: str, told: str
) -> None:
    configure(home, CONFIG + 'servers: {prod: {url: "https://graphs.example.org"}}')
    refused = omnigraph(*words.split())
    assert refused.exit_code in (1, 2) and told in " ".join(refused.err.split())


# Tokens -------------------------------------------------------------------------------------------


def log_in(
    omnigraph: CommandLine, monkeypatch: pytest.MonkeyPatch, server: str, token: str
) -> tuple[int, str]:
    monkeypatch.setattr(sys, "stdin", io.StringIO(token + "\n"))
    answer = omnigraph("login", server)
    return answer.exit_code, answer.err


def served_with_tokens(home: Path) -> AbstractContextManager[str]:
    """A server that knows one token, whose owner may not list graphs."""
    tokens = read_tokens(TokenSources(json='{"ada": "sesame-7"}'))
    graph = Graph.open(home / "usual.omni")
    return served(serve_here(graph, access=DefaultDeny(tokens)).app)


def test_a_token_that_a_server_knows_is_kept_and_sent_to_it_alone(
    omnigraph: CommandLine, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = home / "credentials.json"
    with served_with_tokens(home) as url:
        configure(home, f'servers: {{here: {{url: "{url}"}}}}')
        assert omnigraph("branch", "list", "--server", "here", "--graph", "people").exit_code == 1
        exit_code, told = log_in(omnigraph, monkeypatch, "here", "sesame-7")
        assert exit_code == 0, told
        assert "sesame-7" not in told
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        listed = omnigraph("branch", "list", "--server", "here", "--graph", "people", "--json")
        assert listed.json == {"branches": ["main"]}
    with answering(b'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n["main"]') as other:
        omnigraph("branch", "list", "--server", other.url)
    assert b"sesame-7" not in other.asked[0]
    keep_token(home, other.url, "of-the-other")
    assert omnigraph("logout", "here", "--json").json["was_logged_in"]
    assert json.loads(kept.read_text()) == {origin_of(other.url): "of-the-other"}


def test_a_token_that_no_server_knows_is_not_kept(
    omnigraph: CommandLine, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served_with_tokens(home) as url:
        exit_code, told = log_in(omnigraph, monkeypatch, url, "wrong-7")
        assert exit_code == 1 and "not known" in told and "wrong-7" not in told
        assert log_in(omnigraph, monkeypatch, url, "")[0] == 1
    assert log_in(omnigraph, monkeypatch, url, "sesame-7")[0] == 1
    assert not (home / "credentials.json").exists()


def test_a_token_belongs_to_a_scheme_a_host_and_a_port() -> None:
    assert (
        origin_of("https://H.org/graphs/x")
        == origin_of("https://h.org:443")
        != origin_of("http://h.org:443")
    )


@pytest.mark.parametrize(
    ("mode", "text", "told"),
    [
        (0o644, "{}", "others may read"),
        (0o600, "[]", "holds no tokens"),
        (0o600, '{"a": 1}', "holds no tokens"),
        (0o600, "{", "holds no tokens"),
    ],
)
def test_a_file_of_tokens_that_can_not_be_trusted_is_refused(
    home: Path, mode: int, text: str, told: str
) -> None:
    file = home / "credentials.json"
    file.write_text(text)
    file.chmod(mode)
    with pytest.raises(ConfigurationInvalid, match=told):
        forget_token(home, "https://h.org")
    assert file.read_text() == text


def test_the_page_about_the_configuration_is_true(omnigraph: CommandLine, home: Path) -> None:
    page = PAGE.read_text()
    text = page.split("```yaml\n")[1].split("```")[0]
    configure(home, text.replace("/srv/people.omni", str(home / "usual.omni")))
    assert read_config(home).warnings == ()
    assert read_config(home).profiles["scratch"].format is Format.KV
    for command in page.split("```sh\n")[1].split("```")[0].splitlines():
        answer = omnigraph(*command.split()[1:])
        assert answer.exit_code == 0 and answer.out, command
