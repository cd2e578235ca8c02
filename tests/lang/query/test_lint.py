import json

from omnigraph.base.span import SourceText
from omnigraph.lang.query.lint.lint import lint_source
from omnigraph.lang.schema.check.check import compile_schema
from tests.lang.query.cases import FOLDER

CATALOG = compile_schema(SourceText((FOLDER / "schema.pg").read_text("utf-8")))


def test_a_report_describes_what_queries_take_give_read_and_write() -> None:
    source = SourceText(
        """
        query look($v: Vector(3), $tags: [String], $s: enum(a)?) {
            match {
                $p: Person { status: $s }
                $p.age in [1]
                $p.name in $tags
                not { $p worksAt $_ }
            }
            return { $p, $p.status, $p.tags, $p.taste, count($p) as n }
            order { n }
            limit 1
        }
        query forget($email: String) { delete Person where email = $email }
        query wrong() { match { $p: Persn } return { $p } }
        """,
        "some.gq",
    )
    report = lint_source(source, CATALOG).to_json()
    look, forget, wrong = report["queries"]
    assert json.loads(json.dumps(report)) == report
    assert (report["source"], report["status"]) == ("some.gq", "error")
    assert (look["kind"], forget["kind"], wrong["status"]) == ("read", "mutation", "error")
    assert wrong["operation"] is None

    def kinds(fields: list[dict[str, object]]) -> list[tuple[object, ...]]:
        return [(f["kind"], f["nullable"], f["item_kind"], f["vector_dim"]) for f in fields]

    assert kinds(look["operation"]["params"]) == [
        ("vector", False, None, 3),
        ("list", False, "string", None),
        ("string", True, None, None),
    ]
    assert kinds(look["operation"]["result"]) == [
        ("object", False, None, None),
        ("string", False, None, None),
        ("list", True, "string", None),
        ("vector", True, None, 3),
        ("bigint", False, None, None),
    ]
    assert look["operation"]["reads"] == [
        {"kind": "edge", "type_name": "WorksAt"},
        {"kind": "node", "type_name": "Company"},
        {"kind": "node", "type_name": "Person"},
    ]
    assert look["operation"]["writes"] == []
    assert forget["operation"]["result"] == []
    assert forget["operation"]["writes"] == [
        *({"kind": "edge", "type_name": e} for e in ["Knows", "Likes", "LivesIn", "Mentions"]),
        *({"kind": "edge", "type_name": e} for e in ["WorksAt", "Wrote"]),
        {"kind": "node", "type_name": "Person"},
    ]


def test_a_file_without_findings_is_in_order() -> None:
    source = SourceText("query q() { match { $p: Person } return { $p.name } }")
    report = lint_source(source, CATALOG)
    assert not report.has_errors
    assert report.to_json()["status"] == "ok"
