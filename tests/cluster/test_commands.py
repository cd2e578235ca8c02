"""The commands for deployments: what they say, and how they exit."""

from pathlib import Path

import pytest

from omnigraph import Graph
from omnigraph.cluster.steps import ApplyPoint
from omnigraph.errors import SchemaDeclared
from tests.cluster.serving import Server
from tests.cluster.world import AGED, PERSON, PET, Deployment, DiesAt, dies
from tests.surfaces.cli import CommandLine
from tests.surfaces.client.served import answering, served


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    made = Deployment(tmp_path / "folder")
    return made.write({"person.pg": PERSON, "pet.pg": PET}, people="schema: person.pg")


@pytest.fixture
def cluster(omnigraph: CommandLine, deployment: Deployment) -> "Commands":
    return Commands(omnigraph, deployment)


class Commands:
    def __init__(self, omnigraph: CommandLine, deployment: Deployment) -> None:
        self._omnigraph, self.deployment = omnigraph, deployment

    def __call__(self, command: str) -> tuple[int, str]:
        words = command.split()
        answer = self._omnigraph("cluster", *words, "--config", str(self.deployment.path))
        assert "Traceback" not in answer.err
        return answer.exit_code, answer.out + answer.err


def test_a_plan_exits_with_five_until_it_is_applied(cluster: Commands) -> None:
    code, said = cluster("plan --as ada")
    assert code == 5 and "+ graph.people" in said and "--as ada" in said
    assert cluster("apply --as ada")[0] == 0
    assert cluster("plan") == (0, "nothing to do\n")
    assert cluster("apply")[1].startswith("nothing to do")


def test_a_plan_that_is_in_the_way_of_itself_exits_with_one(cluster: Commands) -> None:
    cluster("apply")
    file = cluster.deployment.path / "cluster.yaml"
    file.write_text(file.read_text().replace("brain", "heart"))
    code, said = cluster("plan")
    assert code == 1 and "the storage is that of the cluster brain" in said
    assert "to apply" not in said


def test_mistakes_are_pointed_at(cluster: Commands) -> None:
    cluster.deployment.write({}, people="schema: persn.pg", other="shema: pet.pg")
    for command in ("validate", "plan", "apply"):
        code, said = cluster(command)
        assert code == 1
        assert "persn.pg does not exist" in said and "did you mean schema?" in said
        assert "^^^^^" in said


def test_the_state_is_told_while_the_folder_has_mistakes(cluster: Commands) -> None:
    cluster("apply --as ada")
    (cluster.deployment.path / "person.pg").write_text("nonsense")
    assert cluster("validate")[0] == 1
    code, said = cluster("status")
    assert code == 0 and "brain, revision 1" in said and "by ada" in said
    assert cluster("refresh") == (0, "no drift\n")


def test_an_apply_that_died_is_told_and_gone_on_with(cluster: Commands) -> None:
    with dies():
        cluster.deployment.apply(actor="ada", faults=DiesAt(ApplyPoint.AFTER_CREATE_1))
    code, said = cluster("status")
    assert "locked by ada" in said and "has not finished" in said
    lock = said.split("for apply: ")[1].split()[0]
    code, said = cluster("apply")
    assert code == 4 and f"force-unlock {lock}" in said
    assert cluster("force-unlock nothing")[0] == 3
    assert cluster(f"force-unlock {lock}")[0] == 0
    assert "the next one goes on with it" in cluster("plan")[1]
    code, said = cluster("apply")
    assert code == 0 and "finished what the apply of" in said


def test_graphs_are_listed_by_folder_and_by_server(
    cluster: Commands, omnigraph: CommandLine
) -> None:
    cluster("apply")
    cluster.deployment.write({}, people="schema: person.pg", pets="schema: pet.pg")
    folder = str(cluster.deployment.path)
    found = omnigraph("graphs", "list", "--config", folder, "--json").json["graphs"]
    assert [(each["graph_id"], each["is_applied"]) for each in found] == [
        ("people", True),
        ("pets", False),
    ]
    server = Server(cluster.deployment, is_open=True)
    with served(server.app) as url:
        [found] = omnigraph("graphs", "list", "--server", url, "--json").json["graphs"]
        assert (found["graph_id"], found["uri"]) == ("people", f"{url}/graphs/people")
        with Graph.connect(found["uri"], token=None) as graph:
            with pytest.raises(SchemaDeclared):
                graph.schema_apply(AGED)
            assert graph.branches() == ["main"]
    assert omnigraph("graphs", "list", "--server", url, "--config", folder).exit_code == 2
    with answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]") as line:
        answer = omnigraph("graphs", "list", "--server", line.url)
    assert answer.exit_code == 1 and "lists no graphs" in answer.err


def test_losses_are_approved_by_name(cluster: Commands) -> None:
    cluster.deployment.write({"person.pg": AGED})
    cluster("apply")
    cluster.deployment.write({"person.pg": PERSON})
    folder = cluster.deployment.path
    assert f"approve schema.people --config {folder}" in cluster("plan")[1]
    code, said = cluster("apply")
    assert code == 1 and "cluster approve schema.people" in said
    assert cluster("approve graph.people")[0] == 3
    assert cluster("approve schema.people --as ada")[0] == 0
    assert "approved: update schema.people" in cluster("status")[1]
    assert "loses data: approved" in cluster("plan")[1]
    code, said = cluster("plan")
    shown = said.split("to apply just this: omnigraph ")[1].split()
    assert cluster("apply --plan 0123456789ab")[0] == 4
    assert "at least 12 letters" in cluster(f"apply --plan {shown[3][:5]}")[1]
    # What is said can be copied.
    assert shown == ["cluster", "apply", "--plan", shown[3], "--config", str(folder)]
    assert cluster("apply")[0] == 0


def test_a_ledger_that_was_edited_is_told_with_what_to_do(cluster: Commands) -> None:
    cluster("apply")
    file = Path(cluster.deployment.storage) / "__cluster" / "state.json"
    file.write_text(file.read_text().replace("people", "peoples"))
    for command in ("status", "plan", "apply", "refresh"):
        code, said = cluster(command)
        assert code == 1 and "changed by hand" in said and "00000001.json" in said


def test_a_folder_is_named_and_not_its_file(cluster: Commands, omnigraph: CommandLine) -> None:
    answer = omnigraph("cluster", "plan", "--config", str(cluster.deployment.path / "cluster.yaml"))
    assert answer.exit_code == 1 and "name the folder" in answer.err
