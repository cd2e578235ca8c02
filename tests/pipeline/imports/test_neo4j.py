"""CSV files as `neo4j-admin database import` takes them are imported with labels, types and ids."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph import Graph, ImportPlan
from omnigraph.base.types import ListOf
from omnigraph.errors import ConstraintViolated, FileMissing, OmnigraphError, SourceInvalid
from omnigraph.pipeline.imports.neo4j_header import TYPES, read_header
from tests.pipeline.imports.imported import edges_of, import_into, nodes_of, write_files

# The example of Neo4j's own documentation.
MOVIES = {
    "movies.csv": """movieId:ID,title,year:int,:LABEL
tt0133093,"The Matrix",1999,Movie
tt0234215,"The Matrix Reloaded",2003,Movie;Sequel
tt0242653,"The Matrix Revolutions",2003,Movie;Sequel
""",
    "actors.csv": """personId:ID,name,:LABEL
keanu,"Keanu Reeves",Actor
laurence,"Laurence Fishburne",Actor
carrieanne,"Carrie-Anne Moss",Actor
""",
    "roles.csv": """:START_ID,role,:END_ID,:TYPE
keanu,"Neo",tt0133093,ACTED_IN
keanu,"Neo",tt0234215,ACTED_IN
laurence,"Morpheus",tt0242653,ACTED_IN
""",
}
ROLES = [
    ("keanu", "tt0133093", {"role": "Neo"}),
    ("keanu", "tt0234215", {"role": "Neo"}),
    ("laurence", "tt0242653", {"role": "Morpheus"}),
]


def test_the_documented_example_becomes_types_by_its_most_common_labels(tmp_path: Path) -> None:
    graph = import_into(tmp_path, write_files(tmp_path / "movies", MOVIES))
    assert nodes_of(graph, "Movie")[1] == {
        "movieId": "tt0234215",
        "title": "The Matrix Reloaded",
        "year": 2003,
        "labels": ["Movie", "Sequel"],
    }
    assert nodes_of(graph, "Actor")[0] == {"personId": "keanu", "name": "Keanu Reeves"}
    assert edges_of(graph, "ActedIn") == ROLES


def test_headers_may_stand_in_files_of_their_own_and_rows_in_several(tmp_path: Path) -> None:
    def body(name: str) -> str:
        return MOVIES[name].partition("\n")[2]

    first, _, rest = body("movies.csv").partition("\n")
    files = {
        "movies-header.csv": MOVIES["movies.csv"].partition("\n")[0],
        "movies-part1.csv": f"{first}\n",
        "movies-part2.csv": rest,
        "actors_header.csv": "personId:ID,name\n",
        "actors.csv": body("actors.csv").replace(",Actor\n", "\n"),
        "ACTED_IN-header.csv": ":START_ID,role,:END_ID\n",
        "ACTED_IN.csv": body("roles.csv").replace(",ACTED_IN\n", "\n"),
    }
    graph = import_into(tmp_path, write_files(tmp_path / "movies", files))
    assert len(nodes_of(graph, "Movie")) == 3
    # Without a column of labels, the name of the file is the label.
    assert len(nodes_of(graph, "Actors")) == 3
    assert edges_of(graph, "ActedIn") == ROLES


def test_every_type_of_a_header_keeps_its_values(tmp_path: Path) -> None:
    files = {
        "t.csv": (
            ":ID(T){id-type:long};n:long;f:double;b:boolean;d:date;at:datetime{timezone:+02:00};"
            "z:datetime;tags:string[];ns:int[];t:time;x:IGNORE;s\n"
            "1; 7 ;1.5; TRUE;2024-05-31;2024-05-31T12:00:00;2024-01-31T12:00:00[Europe/Paris];"
            'a,"b";1,2;12:00;gone;""\n'
            '2;;;;;;;;;;;" blanks stay "\n'
        ).replace('a,"b"', "a,b")
    }
    graph = import_into(tmp_path, write_files(tmp_path / "types", files))
    assert nodes_of(graph, "T") == [
        {
            "id": 1,
            "n": 7,
            "f": 1.5,
            "b": True,
            "d": "2024-05-31",
            "at": "2024-05-31T10:00:00.000Z",
            "z": "2024-01-31T11:00:00.000Z",
            "tags": ["a", "b"],
            "ns": [1, 2],
            "t": "12:00",
            "s": "",
        },
        {"id": 2, "s": " blanks stay "},
    ]


def test_edges_of_one_type_between_several_labels_are_told_apart_by_their_ends(
    tmp_path: Path,
) -> None:
    files = {
        "n.csv": "id:ID,:LABEL\n1,Cat\n2,Dog\n3,Cat\n",
        "e.csv": ":START_ID,:END_ID,:TYPE\n1,2,SEES\n1,3,SEES\n3,1,SEES\n9,1,SEES\n",
    }
    source = write_files(tmp_path / "animals", files)
    assert "edge Sees_Cat_Dog: Cat -> Dog" in ImportPlan.of(source).schema
    with pytest.raises(ConstraintViolated) as caught:
        import_into(tmp_path, source)
    (dangling,) = caught.value.violations.examples
    assert (dangling.kind, dangling.file, dangling.line) == ("endpoint", str(source / "e.csv"), 5)
    # The good rows are loaded where bad ones may be set aside.
    graph = Graph.open(tmp_path / "graph.omni", durability="relaxed")
    result = graph.import_(
        source, engine="local", on_error="quarantine", quarantine=tmp_path / "aside"
    )
    assert (result.rejected, result.edges["Sees_Cat_Cat"]) == (1, 2)
    (line,) = (tmp_path / "aside").rglob("*.jsonl")
    assert "e.csv" in line.read_text()


@pytest.mark.parametrize("edges", ["1,9,HAS\n1,2,HAS\n", "1,2,HAS\n9,2,HAS\n1,,HAS\n9,9,HAS\n"])
def test_an_edge_that_leads_nowhere_makes_no_type_of_its_own(tmp_path: Path, edges: str) -> None:
    """Whether it comes before or after those that it could be one of."""
    files = {"n.csv": "id:ID,:LABEL\n1,Cat\n2,Dog\n", "e.csv": f":START_ID,:END_ID,:TYPE\n{edges}"}
    plan = ImportPlan.of(write_files(tmp_path / "animals", files))
    assert "edge Has: Cat -> Dog\n" in plan.schema
    graph = Graph.init(tmp_path / "graph.omni", plan.schema, durability="relaxed")
    aside = tmp_path / "aside"
    graph.import_(plan, engine="local", on_error="quarantine", quarantine=aside)
    assert [(start, end) for start, end, _ in edges_of(graph, "Has")] == [("1", "2")]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"mode": "merge"}, ["later", "b"]),
        ({"mode": "append", "on_error": "quarantine"}, ["sooner", "a"]),
    ],
)
def test_of_two_rows_with_one_id_the_order_in_the_file_decides_whatever_their_labels(
    tmp_path: Path, options: dict[str, Any], names: list[str]
) -> None:
    rows = "1,sooner,Cat;Pet\n1,later,Cat\n2,a,Cat\n2,b,Cat;Pet\n3,c,Cat\n"
    source = write_files(tmp_path / "cats", {"n.csv": f"id:ID,name,:LABEL\n{rows}"})
    aside = {"quarantine": tmp_path / "aside"} if "on_error" in options else {}
    graph = import_into(tmp_path, source, **options, **aside)
    assert [cat["name"] for cat in nodes_of(graph, "Cat")] == [*names, "c"]


def test_a_duplicated_id_is_told_with_its_file_and_line(tmp_path: Path) -> None:
    files = {"n.csv": 'id:ID,name\n1,"two\nlines"\n2,b\n1,c\n'}
    with pytest.raises(ConstraintViolated) as caught:
        import_into(tmp_path, write_files(tmp_path / "twice", files))
    places = {Path(one.place).name for one in caught.value.violations.examples}
    assert "n.csv:5" in places


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a.csv": "name,age:int\nx,1\n"}, "a.csv:1: the header names neither :ID"),
        ({"a.csv": "id:ID,age:nit\n1,2\n"}, "a.csv:1, column age:nit: the type nit is not known"),
        ({"a.csv": "id:ID,x,x\n1,2,3\n"}, "a.csv:1, column x: two columns have this name"),
        ({"a.csv": "id:ID,x\n1,2,3\n"}, "a.csv:2: the record has 3 fields, and the header 2"),
        ({"a.csv": 'id:ID,x\n1,a"b"\n'}, "a.csv:2: a quote"),
        ({"a.csv": 'id:ID,x\n1,"open\n'}, "a.csv:2: a quote"),
        ({"a.csv": b"id:ID,x\n1,a\n2,\xff\n"}, "a.csv:3: the record is not UTF-8"),
        ({"a.csv": b"id:ID,\xff\n1,a\n"}, "a.csv:1: it is not UTF-8"),
        ({"a.csv": ":ID,:START_ID,:END_ID\n"}, "both :ID and an end"),
        ({"a.csv": ":ID,:ID\n"}, "several :ID columns"),
        ({"a.csv": "id:ID{id-type:float}\n"}, "ids can't have the type float"),
        ({"a.csv": "id:id,x:nit\n1,2\n"}, "a.csv:1, column x:nit: the type nit is not known"),
        ({"a.csv": "x" * 200_000 + "\n1\n"}, "a.csv:1: the header names neither :ID"),
        ({"a.csv": ":START_ID,:END_ID,:TYPE,:TYPE\n"}, "several :TYPE columns"),
        *(
            (
                {"a.csv": f":ID,at:datetime[]{{timezone:{zone}}}\n"},
                f"a.csv:1, column at:datetime[]{{timezone:{zone}}}: the time zone {zone} is not",
            )
            for zone in ("Europe/Pariss", "Europe", "../../etc", "+2")
        ),
        ({"a.csv": "id:ID,:LABEL:string,:LABEL\n1,x,A\n"}, "column :LABEL: a property has this"),
        (
            {"a.csv": "id:ID,:LABEL\n1,A\n2,A\n", "b.csv": "id:ID,:LABEL\n3,B\n2,B\n"},
            "b.csv:3: the id 2 is that of a node of type A and of another of type B",
        ),
        (
            {"a.csv": "pid:ID,:LABEL\n1,A\n", "b.csv": ":ID,pid,:LABEL\n2,x,A\n"},
            "column pid: it is the id of some nodes of A, and a property of others",
        ),
        ({"a.csv": ":START_ID(P),:END_ID(P)\n1,2\n", "p.csv": "id:ID\n1\n"}, "the id space P"),
        ({"a.csv": "id:ID\n1\n", "r.csv": ":START_ID,:END_ID,:TYPE\n1,1,\n"}, "r.csv:2: the rel"),
    ],
)
def test_files_that_are_no_import_of_neo4j_are_refused_by_place(
    files: dict[str, str | bytes], said: str, tmp_path: Path
) -> None:
    with pytest.raises(OmnigraphError) as caught:
        ImportPlan.of(write_files(tmp_path / "bad", files))
    assert said in str(caught.value)


def test_labels_of_several_columns_are_all_labels_of_a_node(tmp_path: Path) -> None:
    files = {"n.csv": "id:ID,:LABEL,n:int,:label\n1,Cat;Pet,1,Cat\n2,,2,Pet\n3,Cat,3,\n"}
    graph = import_into(tmp_path, write_files(tmp_path / "cats", files))
    assert {row["id"]: row["labels"] for row in nodes_of(graph, "Cat")} == {
        "1": ["Cat", "Pet"],
        "3": ["Cat"],
    }
    assert [row["id"] for row in nodes_of(graph, "Pet")] == ["2"]


def test_a_node_without_an_id_is_told_whatever_else_it_has(tmp_path: Path) -> None:
    alone = write_files(tmp_path / "alone", {"n.csv": "id:ID,:LABEL\n1,Cat\n,Cat\n"})
    with pytest.raises(SourceInvalid, match=r"n\.csv:3: the node has no id"):
        import_into(tmp_path, alone)
    (tmp_path / "more").mkdir()
    more = write_files(tmp_path / "others", {"n.csv": "id:ID,name,:LABEL\n1,a,Cat\n,b,Cat\n"})
    with pytest.raises(ConstraintViolated, match=r"n\.csv:3: Cat\.id is required"):
        import_into(tmp_path / "more", more)


def test_ids_that_are_numbers_are_found_however_they_are_written(tmp_path: Path) -> None:
    files = {
        "n.csv": "id:ID(Cat){id-type:long},:LABEL\n1, Cat\n 02,Cat\n",
        "e.csv": ":START_ID(Cat),:END_ID(Cat),:TYPE\n01,2,SEES\n 2 ,1,SEES\n",
    }
    graph = import_into(tmp_path, write_files(tmp_path / "cats", files))
    assert edges_of(graph, "Sees") == [("1", "2", {}), ("2", "1", {})]


def test_numbers_and_days_are_read_in_all_forms_that_neo4j_takes(tmp_path: Path) -> None:
    files = {
        "n.csv": "id:ID,:LABEL,n:int,ns:long[],f:double,fs:float[],d:date,ds:date[]\n"
        "a,Cat,007,007;-0;1,.5,.5;1.;1e3;-2,20240531,2024-05-31;2024-W22-5\n"
    }
    (cat,) = nodes_of(import_into(tmp_path, write_files(tmp_path / "cats", files)), "Cat")
    assert cat == {
        "id": "a",
        "n": 7,
        "ns": [7, 0, 1],
        "f": 0.5,
        "fs": [0.5, 1, 1000, -2],
        "d": "2024-05-31",
        "ds": ["2024-05-31", "2024-05-31"],
    }


def test_a_time_of_a_zone_is_the_moment_that_it_was_there_or_is_refused(tmp_path: Path) -> None:
    files = {
        "n.csv": "id:ID,:LABEL,at:datetime{timezone:Europe/Paris}\n"
        "a,Cat,1900-01-01T12:00:00\nb,Cat,2024-05-31T12:00Z\nc,Cat,1969-12-31T23:59[Asia/Kolkata]\n"
    }
    cats = nodes_of(import_into(tmp_path, write_files(tmp_path / "cats", files)), "Cat")
    assert [cat["at"] for cat in cats] == [
        "1900-01-01T11:50:39.000Z",
        "2024-05-31T12:00:00.000Z",
        "1969-12-31T18:29:00.000Z",
    ]
    (tmp_path / "more").mkdir()
    for at in ("2024-05-31T12:00[Europe]", "2024-05-31T12:00[Nowhere]", "0001-01-01T00:00"):
        files = {"n.csv": f"id:ID,:LABEL,at:datetime{{timezone:Asia/Tokyo}}\na,Cat,{at}\n"}
        with pytest.raises(ConstraintViolated, match=r"n\.csv:2: Cat\.at is .*, not a time"):
            import_into(tmp_path / "more", write_files(tmp_path / "lost", files), dry_run=True)
        shutil.rmtree(tmp_path / "more" / "graph.omni")


def test_other_names_of_an_id_are_told(tmp_path: Path) -> None:
    files = {"a.csv": "pid:ID,:LABEL\n1,A\n", "b.csv": "other:ID,:LABEL\n2,A\n"}
    plan = ImportPlan.of(write_files(tmp_path / "a", files))
    assert "A.pid holds other too" in plan.notes


def test_a_type_of_several_id_spaces_is_told(tmp_path: Path) -> None:
    files = {
        "a.csv": "id:ID(Old),:LABEL\n1,Cat\n2,Dog\n",
        "b.csv": "id:ID(New),:LABEL\n1,Cat\n3,Bird\n",
        "c.csv": "id:ID,:LABEL\n4,Cat\n",
    }
    (note,) = ImportPlan.of(write_files(tmp_path / "pets", files)).notes
    spaces = "without a name, New and Old"
    assert note == f"Cat has nodes of the id spaces {spaces}: no two of them can share an id"


def test_a_directory_without_files_is_missing_something(tmp_path: Path) -> None:
    with pytest.raises(FileMissing):
        ImportPlan.of(tmp_path, format="neo4j-csv")
    with pytest.raises(SourceInvalid, match="its format can't be told"):
        ImportPlan.of(tmp_path)


NAMES = st.text(st.characters(exclude_characters=":\r\n", exclude_categories=["Cs", "Cc"]))
FIELDS = st.tuples(NAMES.map(str.strip).filter(bool), st.sampled_from(sorted(TYPES)), st.booleans())


@settings(max_examples=50)
@given(st.lists(FIELDS, unique_by=lambda one: one[0]), st.sampled_from(",\t"))
def test_a_header_is_read_as_it_was_written(
    fields: list[tuple[str, str, bool]], delimiter: str
) -> None:
    texts = ["key:ID(Space)", ":LABEL"]
    fields = [one for one in fields if one[0] != "key"]
    texts += [f"{name}:{word}{'[]' * is_list}" for name, word, is_list in fields]
    line = delimiter.join('"' + text.replace('"', '""') + '"' for text in texts)
    header = read_header(line, "f:1")
    assert header.is_of_nodes and header.delimiter == delimiter
    assert [(one.name, one.type) for one in header.properties] == [
        (name, ListOf(TYPES[word]) if is_list else TYPES[word]) for name, word, is_list in fields
    ]
