"""Which variables each block of a pattern binds, and which it sees.

A block sees what its surroundings bind, wherever in them that is written. Bindings and the ends of
traversals come first, then what every block of an `or` binds, then what `optional` blocks bind
(which may be null); `not`, `exists` and `count` blocks see all of it and show nothing. A variable
with a declaration and one that only a traversal binds are the same here.
"""

from dataclasses import dataclass, field

from omnigraph.base.ids import TypeName
from omnigraph.base.nearest import name_hint
from omnigraph.lang.query.check.infer import Join, Known, Member, OneOf, Types, Walk, Within, solve
from omnigraph.lang.query.check.mentions import bound_in, edges_in
from omnigraph.lang.query.check.typed import Direction
from omnigraph.lang.query.findings import Findings
from omnigraph.lang.query.text import ast
from omnigraph.lang.schema.catalog import Catalog

__all__ = ["MAX_HOPS", "Region", "survey"]

# Deeper than any path people ask for; it bounds what one traversal can cost.
MAX_HOPS = 1000


@dataclass(eq=False)
class Region:
    """A block, the variables it binds (`own`, by first mention) and all that it sees (`known`)."""

    block: ast.Block
    known: dict[str, Known] = field(default_factory=dict)
    maybe: set[str] = field(default_factory=set)
    """Seen variables that an optional block binds, and so may be null."""
    own: dict[str, Known] = field(default_factory=dict)
    inner: dict[int, tuple["Region", ...]] = field(default_factory=dict)
    """The regions of a clause's blocks, by the clause's position."""
    walks: dict[int, Walk] = field(default_factory=dict)
    shared: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """The variables that every block of an `or` binds, by the clause's position."""
    views: dict[str, Known] = field(default_factory=dict)
    """Outer variables as the clauses here narrow them; other regions don't see that."""
    refused: set[str] = field(default_factory=set)
    """Outer variables that a binding here wanted to narrow, which was reported."""


def survey(
    block: ast.Block, catalog: Catalog, parameters: frozenset[str], findings: Findings
) -> Region:
    """The regions of a query's pattern, with the types of all variables decided."""
    surveyor = _Surveyor(catalog, parameters, findings)
    region = surveyor.region(block, Region(block), shared=())
    solve(surveyor.constraints, findings)
    surveyor.refuse_type_tests()
    if not findings:
        surveyor.refuse_impossible(region)
    return region


@dataclass(eq=False)
class _Surveyor:
    catalog: Catalog
    parameters: frozenset[str]
    findings: Findings
    constraints: list[Join] = field(default_factory=list)
    tests: list[tuple[ast.Binding, Types, Region]] = field(default_factory=list)

    def region(self, block: ast.Block, outside: Region, *, shared: tuple[str, ...]) -> Region:
        """`shared`: names that this block of an `or` binds for its surroundings."""
        visible = {n: k for n, k in outside.known.items() if n not in shared}
        region = Region(block, visible, set(outside.maybe))
        for clause in block.clauses:
            if isinstance(clause, ast.Binding):
                self.bind(region, clause.variable)
        for clause in block.clauses:
            if isinstance(clause, ast.Traversal):
                self.bind(region, clause.left)
                self.bind(region, clause.right)
        for position, clause in enumerate(block.clauses):
            if isinstance(clause, ast.Alternatives):
                self.share(region, position, clause)
        for position, clause in enumerate(block.clauses):
            if isinstance(clause, ast.Binding):
                self.constrain_binding(region, clause)
            elif isinstance(clause, ast.Traversal):
                self.constrain_traversal(region, position, clause)
        self.descend(region)
        mentions = {v.name: i for i, v in reversed(list(enumerate(bound_in(block))))}
        region.own = dict(sorted(region.own.items(), key=lambda own: mentions[own[0]]))
        return region

    # Names --------------------------------------------------------------------------------------

    def bind(self, region: Region, variable: ast.Variable) -> None:
        name = variable.name
        if name in self.parameters:
            message = f"${name} is a parameter and can't be bound to nodes"
            self.findings.add("T25", message, variable.span, "choose another name")
        elif name not in region.known:
            everything = frozenset(n.name for n in self.catalog.nodes)
            known = Known(name, everything, is_fresh=variable.is_fresh)
            region.known[name] = region.own[name] = known

    def bind_edge(self, region: Region, variable: ast.Variable, types: Types) -> None:
        name = variable.name
        if name in self.parameters or name in region.known:
            message = f"{variable.shown} is already bound, and an edge needs a name of its own"
            self.findings.add("T23", message, variable.span, "choose another name")
            return
        known = Known(name, types, is_edge=True, is_typed=True, is_fresh=variable.is_fresh)
        region.known[name] = region.own[name] = known

    def share(self, region: Region, position: int, clause: ast.Alternatives) -> None:
        """Bind the variables of all blocks in the surroundings too, unless they are bound there."""
        common = set.intersection(*(_bound_by(block) for block in clause.blocks))
        names = [v for block in clause.blocks for v in bound_in(block) if v.name in common]
        shared = {v.name: v for v in reversed(names) if v.name not in region.known}
        region.shared[position] = tuple(n for n in shared if n not in self.parameters)
        edges = set[str]().union(*(edges_in(b) for b in clause.blocks))
        for variable in shared.values():
            if variable.name in edges:
                every_edge = frozenset(e.name for e in self.catalog.edges)
                self.bind_edge(region, variable, every_edge)
            else:
                self.bind(region, variable)

    def cell(self, region: Region, variable: ast.Variable) -> Known | None:
        """The types that the clauses of the region allow a node variable; None if it is no node."""
        known = region.known.get(variable.name)
        if known is None:
            return None
        if known.is_edge:
            message = f"{variable.shown} is bound to an edge and can't stand for a node"
            self.findings.add("T23", message, variable.span)
            return None
        if variable.name in region.own:
            return known
        if variable.name not in region.views:
            view = Known(known.name, known.types, is_typed=known.is_typed)
            region.views[variable.name] = view
            self.constraints.append(Within(view, known, is_view=True))
        return region.views[variable.name]

    # Constraints --------------------------------------------------------------------------------

    def constrain_binding(self, region: Region, clause: ast.Binding) -> None:
        known = self.cell(region, clause.variable)
        types = self.node_types(clause.type)
        if known is None or types is None:
            return
        if clause.variable.name not in region.own:
            self.tests.append((clause, types, region))
        if not known.types & types:
            message = f"{known.shown} can't be {clause.type.text}: it is {known.shown_types}"
            self.findings.add("T25", message, clause.type.span)
            return
        known.types &= types
        known.is_typed = True

    def refuse_type_tests(self) -> None:
        for clause, types, region in self.tests:
            outer = region.known[clause.variable.name]
            if not outer.types <= types:
                region.refused.add(clause.variable.name)
                message = f"a block can't narrow {outer.shown} from {outer.shown_types}"
                hint = f"bind {outer.shown} to {clause.type.text} outside, or only inside"
                self.findings.add("T25", message, clause.type.span, hint)

    def refuse_impossible(self, region: Region) -> None:
        """Clauses can exclude each other without any of them being wrong by itself."""
        first = {v.name: v for v in reversed(list(bound_in(region.block)))}
        for name, known in region.own.items():
            if not known.types:
                message = f"no type fits all that is said of {known.shown}"
                self.findings.add("T25", message, first[name].span)
        for regions in region.inner.values():
            for inner in regions:
                self.refuse_impossible(inner)

    def node_types(self, word: ast.Word) -> Types | None:
        if word.text in self.catalog.node_by_name:
            return frozenset({self.catalog.node_by_name[word.text].name})
        if word.text in self.catalog.interface_by_name:
            types = frozenset(n.name for n in self.catalog.implementers(word.text))
            if not types:
                message = f"no node type implements the interface {word.text}"
                self.findings.add("T1", message, word.span)
            return types or None
        if word.text.casefold() in self.catalog.edge_by_folded_name:
            edge = self.catalog.edge_by_folded_name[word.text.casefold()]
            hint = f"bind an edge between its nodes: $a $e:{edge.query_name} $b"
            self.findings.add("T1", f"{word.text} is an edge, not a node type", word.span, hint)
            return None
        known = [*self.catalog.node_by_name, *self.catalog.interface_by_name]
        hint_or_none = name_hint(word.text, known)
        self.findings.add("T1", f"no node type is called {word.text}", word.span, hint_or_none)
        return None

    def constrain_traversal(self, region: Region, position: int, clause: ast.Traversal) -> None:
        left, right = self.cell(region, clause.left), self.cell(region, clause.right)
        members = self.members(clause)
        least, most = self.hops(clause)
        if clause.edge_variable:
            names = frozenset(m.edge.name for m in members)
            self.bind_edge(region, clause.edge_variable, names)
            if clause.hops and (least, most) != (1, 1):
                message = f"a path of up to {most} edges has no single edge to bind"
                self.findings.add("T23", message, clause.hops.span, "leave the bounds out")
        if left and right and len(members) == len(clause.edges):
            walk = Walk(clause, left, right, members, least, most)
            region.walks[position] = walk
            self.constraints.append(walk)

    def members(self, clause: ast.Traversal) -> list[Member]:
        members: dict[TypeName, Member] = {}
        failures = 0
        for word in clause.edges:
            edge = self.catalog.edge_by_folded_name.get(word.text.casefold())
            if edge is None:
                known = [e.query_name for e in self.catalog.edges]
                message = f"no edge is called {word.text}"
                self.findings.add("T4", message, word.span, name_hint(word.text, known))
                failures += 1
                continue
            if edge.name in members:
                self.findings.add("T4", f"{word.text} is named twice", word.span)
                failures += 1
                continue
            source, target = frozenset({edge.source}), frozenset({edge.target})
            if clause.is_undirected and source != target:
                message = (
                    f"{edge.query_name} goes from {edge.source} to {edge.target}: "
                    "only an edge between nodes of one type can be taken either way"
                )
                hint = f"write {clause.left.shown} {edge.query_name} {clause.right.shown}"
                self.findings.add("T22", message, word.span, hint)
                failures += 1
                continue
            allowed = {Direction.OUT} if source == target else {Direction.OUT, Direction.IN}
            directions = {Direction.BOTH} if clause.is_undirected else allowed
            members[edge.name] = Member(word, edge, source, target, directions)
        return [] if failures else list(members.values())

    def hops(self, clause: ast.Traversal) -> tuple[int, int]:
        hops = clause.hops
        if hops is None:
            return 1, 1
        if hops.most is None:
            hint = (
                f"write {{{hops.least},{hops.least + 2}}} for {hops.least} to {hops.least + 2} hops"
            )
            self.findings.add("T15", "the bounds have no upper end", hops.span, hint)
        elif hops.least < 1:
            self.findings.add("T15", "a traversal takes at least one hop", hops.span)
        elif hops.most < hops.least:
            message = f"the bounds are the wrong way round: {hops.least} is more than {hops.most}"
            self.findings.add("T15", message, hops.span)
        elif hops.most > MAX_HOPS:
            message = f"at most {MAX_HOPS:,} hops can be asked for"
            self.findings.add("T15", message, hops.span)
        else:
            return hops.least, hops.most
        return 1, 1

    # Blocks -------------------------------------------------------------------------------------

    def descend(self, region: Region) -> None:
        clauses = list(enumerate(region.block.clauses))
        for position, clause in clauses:
            if isinstance(clause, ast.Alternatives):
                self.descend_alternatives(region, position, clause)
        for position, clause in clauses:
            if isinstance(clause, ast.SubPattern) and clause.kind is ast.BlockKind.OPTIONAL:
                inner = self.region(clause.block, region, shared=())
                region.inner[position] = (inner,)
                region.known |= inner.own
                region.own |= inner.own
                region.maybe |= inner.own.keys()
        for position, clause in clauses:
            if isinstance(clause, ast.SubPattern | ast.CountTest) and position not in region.inner:
                region.inner[position] = (self.region(clause.block, region, shared=()),)

    def descend_alternatives(self, region: Region, position: int, clause: ast.Alternatives) -> None:
        shared = region.shared[position]
        regions = tuple(self.region(block, region, shared=shared) for block in clause.blocks)
        region.inner[position] = regions
        for name in shared:
            outer = region.known[name]
            inner = tuple(r.own[name] for r in regions)
            if len({outer.is_edge, *(k.is_edge for k in inner)}) > 1:
                message = f"{outer.shown} is an edge in one block and a node in another"
                self.findings.add("T23", message, clause.span)
                continue
            self.constraints.append(OneOf(outer, inner))
            self.constraints += [Within(k, outer, is_view=False) for k in inner if not k.is_edge]


def _bound_by(block: ast.Block) -> set[str]:
    """Names that are bound wherever the block holds."""
    bound: set[str] = set()
    for clause in block.clauses:
        match clause:
            case ast.Binding(variable=variable):
                bound.add(variable.name)
            case ast.Traversal(left=left, right=right, edge_variable=edge):
                bound |= {v.name for v in (left, right, edge) if v}
            case ast.Alternatives(blocks=blocks):
                bound |= set.intersection(*(_bound_by(b) for b in blocks))
            case _:
                pass
    return bound
