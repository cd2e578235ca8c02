// What the exports beside this file were made of.
// `ladybug.json` (ladybug 0.22.0): EXPORT DATABASE 'ladybug' (format="parquet"), its files in base64
// `kuzu-csv` (kuzu 0.11.3): EXPORT DATABASE 'kuzu-csv' (format="csv", header=true), and before it
//   CREATE REL TABLE MENTIONS(FROM Person TO City, FROM City TO City, FROM City TO Person);
//   MATCH (a:City {id: 0}), (b:City {id: 1}) CREATE (a)-[:MENTIONS]->(b);
//   MATCH (a:City {id: 0}), (b:Person {email: 'eve,x'}) CREATE (a)-[:MENTIONS]->(b);
CREATE NODE TABLE Person(email STRING PRIMARY KEY, name STRING, age INT64, height DOUBLE, small INT16, big UINT64, active BOOL, born DATE, seen TIMESTAMP, tags STRING[], scores DOUBLE[], face FLOAT[3], photo BLOB, uid UUID, address STRUCT(city STRING, zip INT64));
CREATE NODE TABLE City(id SERIAL PRIMARY KEY, `Full Name` STRING DEFAULT 'nowhere');
CREATE REL TABLE Knows(FROM Person TO Person, since DATE, note STRING);
CREATE REL TABLE LivesIn(FROM Person TO City, weight FLOAT, MANY_ONE);
CREATE (:Person {email: 'ada@x', name: 'Ada "the first", Lovelace', age: 36, height: 1.7, small: -3, big: 18446744073709551615, active: true, born: date('1815-12-10'), seen: timestamp('2024-05-31 12:00:00.25'), tags: ['a', 'd"e', 'f;g'], scores: [1.5, 2.0], face: [1.0, 0.5, 0.25], photo: blob('\\x00\\xFFabc'), uid: uuid('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'), address: {city: 'London', zip: 3}});
CREATE (:Person {email: 'bob@x', name: 'on two
lines', active: false, tags: []});
CREATE (:Person {email: 'eve,x', name: '', height: 1e300});
CREATE (:City {`Full Name`: 'London'});
CREATE (:City {`Full Name`: 'Paris'});
MATCH (a:Person {email: 'ada@x'}), (b:Person {email: 'bob@x'}) CREATE (a)-[:Knows {since: date('1833-06-05'), note: 'x'}]->(b);
MATCH (a:Person {email: 'ada@x'}), (b:Person {email: 'eve,x'}) CREATE (a)-[:Knows]->(b);
MATCH (a:Person {email: 'ada@x'}), (b:City {`Full Name`: 'Paris'}) CREATE (a)-[:LivesIn {weight: 0.5}]->(b);
