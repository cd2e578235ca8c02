"""A small graph of people and companies that several tests tell their story with."""

import json
from pathlib import Path

SCHEMA = """
node Person  { email: String @key  name: String  age: I32? }
node Company { name: String @key }
edge Knows: Person -> Person { since: Date? }
edge WorksAt: Person -> Company
"""

QUERIES = """
query everyone() { match { $p: Person } return { $p.email, $p.age } order { $p.email } }

query friends_of($email: String) {
    match { $p: Person { email: $email }  $p knows $f }
    return { $f.name as name }
    order { name }
}

query friends_of_friends($email: String) {
    match { $p: Person { email: $email }  $p knows $f  $f knows $g }
    return { $g.name as name }
    order { name }
}

query older_than($age: I32) {
    match { $p: Person  $p.age > $age }
    return { count($p) as n }
}

query staff() {
    match { $p: Person  $p worksAt $c }
    return { $c.name as company, count($p) as n }
    order { n desc, company }
    limit 10
}

query hire($email: String, $name: String, $company: String) {
    insert Person { email: $email, name: $name }
    insert WorksAt { from: $email, to: $company }
}

query birthday($email: String, $age: I32) {
    update Person set { age: $age } where email = $email
}

query leave($email: String) { delete Person where email = $email }
"""

ENVELOPES: list[dict[str, object]] = [
    {"type": "Person", "data": {"email": "ada@x", "name": "Ada", "age": 36}},
    {"type": "Person", "data": {"email": "alan@x", "name": "Alan", "age": 41}},
    {"type": "Person", "data": {"email": "grace@x", "name": "Grace", "age": None}},
    {"type": "Company", "data": {"name": "Engines"}},
    {"edge": "Knows", "from": "ada@x", "to": "alan@x", "data": {"since": "1840-06-01"}},
    {"edge": "Knows", "from": "alan@x", "to": "grace@x"},
    {"edge": "Knows", "from": "alan@x", "to": "ada@x"},
    {"edge": "WorksAt", "from": "ada@x", "to": "Engines"},
]


def write_ndjson(file: Path, envelopes: list[dict[str, object]] = ENVELOPES) -> str:
    file.write_text("".join(json.dumps(e) + "\n" for e in envelopes), encoding="utf-8")
    return str(file)
