"""A conversation, word by word: the same on a graph here and on a server."""

import os
import re
import signal
import threading
from pathlib import Path

import pytest

from omnigraph import Graph, OmnigraphError
from omnigraph.base.errors import QueryCancelled
from omnigraph.surfaces.cli.shell.command import WELCOME
from omnigraph.surfaces.cli.shell.commands import COMMANDS, Leave, run_text
from omnigraph.surfaces.cli.shell.running import interruptible
from omnigraph.surfaces.cli.shell.session import Session, said

PAGE = Path(__file__).parents[3] / "docs/user/shell.md"

CONVERSATION = """\
> .branches
* main
> match { $p: Person } return { $p.name, $p.age } order { $p.name };
p.name   p.age
──────────────
ada         36
bob         41
cleo
3 rows
> query who($name: String) { match { $p: Person { name: $name } } return { $p.age } }
error: P001: $name of who is String and was not given
  hint: .params {"name": …} gives it a value
> .params {"name": "ada", "unused": 1}
{"name": "ada", "unused": 1}
> query who($name: String) { match { $p: Person { name: $name } } return { $p.age } }
p.age
─────
   36
1 row
> match { $p: Person { name: $name }  $p knows $f } return { $f.name };
f.name
──────
bob
1 row
> .params clear
there are no parameters; .params {"name": "Ada"} sets $name
> .mode jsonl
rows are shown as jsonl
> match { $p: Person } return { count($p) as n }
return { $p }

error[Q000]: expected limit, offset, order or '}' after '}', found return
<shell>:2:1
2 | return { $p }
  | ^^^^^^
> .branch review/1
made branch review/1; on branch review/1 of GRAPH
> insert Person { name: "eve" } insert Knows { from: "eve", to: "ada" };
1 node and 1 edge changed on GRAPH, branch review/1: commit COMMIT
> match { $p: Person } return { count($p) as n };
{"n": 4}
> .checkout main
on branch main of GRAPH
> match { $p: Person } return { count($p) as n };
{"n": 3}
> update Person set { age: 36 } where name = "ada";
nothing changed on GRAPH, branch main
> .branches
* main
  review/1
> .checkout mian
error: no branch named mian
  hint: did you mean main? .branch mian makes it here
> .checkout 2020-01-01
error: branch main had no commit at 2020-01-01T00:00:00
  hint: .log shows the commits; a time is written as 2026-03-01T12:00Z
> .checkout 01ARZ3NDEKTSV4RRFFQ69G5FAV
error: no commit 01ARZ3NDEKTSV4RRFFQ69G5FAV in this graph
  hint: .log shows the commits; a time is written as 2026-03-01T12:00Z
> .log
* COMMIT  [main]  AGO  load
* COMMIT  AGO  init
> .log 1
* COMMIT  [main]  AGO  load
> .checkout FIRST
at commit COMMIT of TIME, which can only be read; .checkout main goes back
> match { $p: Person } return { count($p) as n };
{"n": 0}
> delete Person where name = "ada";
error: commit COMMIT was opened read-only, so it can't be changed
  hint: .checkout main goes back to the branch, and .branch NAME makes a branch here
> .branch from/past
made branch from/past; on branch from/past of GRAPH
> .checkout
on branch from/past of GRAPH
> .schema Knows
edge Knows: Person -> Person {
    since: I32?
}
> .schema Know
error: type 'Know': the schema has no such type
  hint: did you mean Knows?
> .explain match { $n: Note } return { $n.text };
NodeScan n: Note  ~1 rows
Project n.text    ~1 rows
> .explain match { $n: Note } return { $n.txt };
error[T6]: Note has no property txt
<shell>:1:41
1 | .explain match { $n: Note } return { $n.txt };
  |                                         ^^^
  hint: did you mean text?
> .timing
timing is on
> match { $n: Note } return { $n.text };
time: SECONDS
> .explain
NodeScan n: Note  ~1 rows
Project n.text    ~1 rows
> .timing of
error: .timing 'of': it is on or off
> .mode jsno
error: .mode 'jsno': rows are shown as table, json, jsonl, csv or kv
  hint: did you mean json?
> .modes
error: .modes: there is no such command
  hint: did you mean .mode?
> .what
error: .what: there is no such command
  hint: .help lists the commands
> .params [1]
error: .params '[1]': it must be a JSON object, such as {"name": "Ada"}
  hint: write an object: .params {"name": "Ada"}
"""


class Talk:
    def __init__(self, graph: Graph, capsys: pytest.CaptureFixture[str]) -> None:
        self.session = Session(graph)
        self.first = graph.commits()[-1].graph_commit_id
        self._capsys = capsys

    def __call__(self, text: str) -> str:
        """What is said to a text, without ids and times."""
        self._capsys.readouterr()
        try:
            run_text(self.session, text.replace("FIRST", self.first), "<shell>")
            more = ""
        except OmnigraphError as error:
            more = f"{said(error, self.session)}\n"
        printed = self._capsys.readouterr()
        return self._masked(printed.out + printed.err + more)

    def _masked(self, text: str) -> str:
        text = text.replace(self.session.graph.uri, "GRAPH")
        text = re.sub(r"\b01(?!ARZ)[0-9A-Z]{24}\b", "COMMIT", text)
        text = re.sub(r"\d+ \w+ ago", "AGO", text)
        text = re.sub(r"\b20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", text)
        return re.sub(r"\d+\.\d{3} s", "SECONDS", text)


@pytest.fixture
def talk(graph: Graph, capsys: pytest.CaptureFixture[str]) -> Talk:
    return Talk(graph, capsys)


def test_a_conversation(talk: Talk) -> None:
    told = ""
    for typed in typed_in(CONVERSATION):
        told += f"> {typed}\n{talk(typed)}"
    assert told == CONVERSATION


def typed_in(conversation: str) -> list[str]:
    """What is typed: the line behind `>`, and lines that follow it to an empty one."""
    found = []
    for part in re.split(r"^> ", conversation, flags=re.MULTILINE)[1:]:
        whole, empty, _ = part.partition("\n\n")
        found.append(f"{whole}\n" if empty else part.partition("\n")[0])
    return found


def test_rows_are_shown_in_the_mode_that_was_set(
    shared: Graph, capsys: pytest.CaptureFixture[str]
) -> None:
    talk = Talk(shared, capsys)
    ask = "match { $p: Person } return { $p.name as who, $p.age } limit 1;"
    shown = {mode: talk(f".mode {mode}\n{ask}").partition("rows are shown")[0] for mode in MODES}
    assert shown["csv"] == "who,p.age\nada,36\n"
    assert shown["kv"] == "who: ada\np.age: 36\n"
    assert shown["jsonl"] == '{"who": "ada", "p.age": 36}\n'
    assert '"row_count": 1' in shown["json"] and '"branch": "main"' in shown["json"]
    assert shown["table"].startswith("who   p.age\n")
    change = 'update Person set { age: 1 } where name = "bob";'
    assert '"affected_nodes": 1' in talk(f".mode json\n{change}")


MODES = ("csv", "kv", "jsonl", "json", "table")


def test_a_query_of_a_file_is_run_by_its_name(
    shared: Graph,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my people.gq").write_text(
        "query one($name: String) { match { $p: Person { name: $name } } return { $p.age } }\n"
        "query add($name: String) { insert Person { name: $name } }\n"
        "query wrong() { match { $p: Person } return { $p.agee } }\n"
        "query broken() { match }\n"
    )
    talk = Talk(shared, capsys)
    assert talk('.run "my people.gq" one {"name": "bob"}').startswith("p.age\n")
    assert "1 node and 0 edges changed" in talk('.run "my people.gq" add {"name": "zoe"}')
    assert "36" in talk('.params {"name": "ada"}\n.run "my people.gq" one')
    assert "my people.gq:3:" in talk('.run "my people.gq" wrong')
    assert "my people.gq:4:" in talk('.run "my people.gq" broken')
    assert "did you mean one?" in talk('.run "my people.gq" ona')
    assert "it takes a .gq file" in talk(".run")
    assert "a quote has no end" in talk('.run "my')
    assert "no file at nothing.gq" in talk(".run nothing.gq x")


def test_a_file_is_read_as_if_it_were_typed(
    shared: Graph,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(".mode csv\n.read b.txt\nmatch { $p: Perso } return { $p };")
    Path("b.txt").write_text(
        'insert Person { name: "yan" };\nmatch { $c: Company } return { $c.name }'
    )
    talk = Talk(shared, capsys)
    told = talk(".read a.txt")
    assert told.startswith("c.name\nAnalytical\n") and "1 node" in told
    assert "a.txt:3:13" in told and "did you mean Person?" in told
    Path("self.txt").write_text(".read self.txt")
    assert "more than 8 deep" in talk(".read self.txt")


def test_another_graph_is_opened_and_a_wrong_address_changes_nothing(
    shared: Graph, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    Graph.init(tmp_path / "other.omni", "node Thing { name: String @key }")
    talk = Talk(shared, capsys)
    assert "no graph at" in talk(f".open {tmp_path}/nowhere.omni")
    assert talk.session.label == "people main"
    assert talk(f".open {tmp_path}/other.omni") == "on branch main of GRAPH\n"
    assert talk.session.label == "other main"
    assert talk('insert Thing { name: "x" };').startswith("1 node")


def test_help_names_every_command_and_fits_a_narrow_terminal(
    shared: Graph, capsys: pytest.CaptureFixture[str]
) -> None:
    told = Talk(shared, capsys)(".help").splitlines()
    assert all(any(line.startswith(each.name) for line in told) for each in COMMANDS)
    assert max(map(len, told)) <= 80


def test_the_page_lists_the_commands_and_greets_as_the_shell_does() -> None:
    page = PAGE.read_text()
    listed = re.findall(r"^\| `(\.[^`]*)` \|", page, re.MULTILINE)
    assert [each.replace("\\|", "|") for each in listed] == [
        f"{each.name} {each.arguments}".rstrip() for each in COMMANDS
    ]
    assert f"\n{WELCOME}\n" in page


def test_quit_leaves(shared: Graph) -> None:
    for command in (".quit", ".exit", ".quit;"):
        with pytest.raises(Leave):
            run_text(Session(shared), f"{command}\n.what", "<shell>")


def test_a_shell_that_only_reads_refuses_changes(
    shared: Graph, capsys: pytest.CaptureFixture[str]
) -> None:
    talk = Talk(shared, capsys)
    talk.session.is_read_only = True
    assert "start the shell without --read-only" in talk('insert Person { name: "x" };')
    assert talk(".mode csv\nmatch { $c: Company } return { $c.name };").startswith("c.name\nAnaly")


# Ctrl-C -------------------------------------------------------------------------------------------


def test_ctrl_c_ends_the_question_and_not_the_shell() -> None:
    ended = threading.Event()

    def ask(cancel: threading.Event) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        cancel.wait()
        ended.set()
        raise QueryCancelled(step="waiting")

    with pytest.raises(KeyboardInterrupt, match="the query was ended"):
        interruptible(ask)
    assert ended.is_set()
    assert interruptible(lambda _: 7) == 7


def test_what_a_question_raises_is_raised() -> None:
    def ask(cancel: threading.Event) -> None:
        raise QueryCancelled(step="now")

    with pytest.raises(QueryCancelled):
        interruptible(ask)


def test_a_second_ctrl_c_waits_no_longer() -> None:
    may_end = threading.Event()

    def ask(cancel: threading.Event) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        cancel.wait()
        os.kill(os.getpid(), signal.SIGINT)
        may_end.wait()

    with pytest.raises(KeyboardInterrupt):
        interruptible(ask)
    may_end.set()
