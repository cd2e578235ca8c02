"""A bundle's file of YAML: version, groups, actors, protected branches and rules."""

from collections.abc import Iterator, Mapping

from omnigraph.base.frozen import frozen
from omnigraph.base.nearest import name_hint
from omnigraph.base.span import SourceText
from omnigraph.base.words import clipped, listed
from omnigraph.base.yaml_text import YamlList, YamlMap, YamlNode, YamlRefused, YamlScalar, read_yaml
from omnigraph.policy.actions import ACTIONS, ROW_ACTIONS, ScopeKind
from omnigraph.policy.bundle import (
    Attribute,
    Effect,
    Everyone,
    Group,
    Members,
    Named,
    Rule,
    Scope,
    Written,
)
from omnigraph.policy.cedar import CedarRefused, condition_nodes
from omnigraph.policy.findings import Findings, Place
from omnigraph.policy.row_fields import FieldKind
from omnigraph.policy.yaml_values import Values

__all__ = ["YamlPart", "read_yaml_bundle"]

VERSION = 1
SECTIONS = ("version", "groups", "actors", "protected_branches", "rules")
EFFECTS: Mapping[str, Effect] = {"allow": "permit", "deny": "forbid"}
RULE_KEYS = (
    "actors",
    "actions",
    *(kind.value for kind in ScopeKind),
    "types",
    "properties",
    "when",
    "unless",
)
SCOPES = ("any", "protected", "unprotected")
EVERYONE = "everyone"
INTEGERS = range(-(2**63), 2**63)


@frozen(eq=False)
class YamlPart:
    groups: Mapping[str, Group]
    attributes: Mapping[str, Mapping[str, Attribute]]
    attribute_kinds: Mapping[str, FieldKind]
    protected_branches: frozenset[str]
    rules: tuple[Rule, ...]


NOTHING = YamlPart({}, {}, {}, frozenset(), ())


def read_yaml_bundle(source: SourceText, findings: Findings) -> YamlPart:
    try:
        root = read_yaml(source.text)
    except YamlRefused as refused:
        findings.add("A001", Place(source, refused.span), refused.message, refused.hint)
        return NOTHING
    return _Reader(source, findings).bundle(root)


class _Reader(Values):
    def bundle(self, root: YamlNode) -> YamlPart:
        sections = self.fields(root, "a policy", known=SECTIONS, required=["version"])
        if "version" in sections:
            self._version(sections["version"])
        groups = self._groups(sections.get("groups"))
        attributes, kinds = self._actors(sections.get("actors"))
        protected: tuple[Named, ...] = ()
        if "protected_branches" in sections:
            protected = self._protected(sections["protected_branches"])
        rules: tuple[Rule, ...] = ()
        if "rules" in sections:
            items = self.items(sections["rules"], "rules")
            rules = tuple(rule for item in items if (rule := self._rule(item, groups)))
        return YamlPart(groups, attributes, kinds, frozenset(b.name for b in protected), rules)

    def _version(self, node: YamlNode) -> None:
        if not isinstance(node, YamlScalar) or node.value != VERSION or node.value is True:
            self.wrong("A004", node, f"the version of a policy is {VERSION}")

    def _protected(self, node: YamlNode) -> tuple[Named, ...]:
        branches = self.names(node, "protected_branches")
        for branch in branches:
            if "*" in branch.name:
                message = "a protected branch is the whole name of a branch, without *"
                self.findings.add("A004", branch.place, message)
        return branches

    # Groups and actors ---------------------------------------------------------------------------

    def _groups(self, node: YamlNode | None) -> dict[str, Group]:
        groups: dict[str, Group] = {}
        for name, members in self.mapping(node, "groups").items() if node is not None else ():
            if not name.name.strip():
                self.findings.add("A004", name.place, "the name of a group is not empty")
            items = self.items(members, f"group {clipped(name.name)}", may_be_empty=False)
            groups[name.name] = Group(name, self._members(items))
        for group in groups.values():
            self._check_groups(group.members.groups, groups)
        self._check_circles(groups)
        return groups

    def _members(self, items: tuple[YamlNode, ...]) -> Members:
        actors: list[Named] = []
        groups: list[Named] = []
        for item in items:
            if isinstance(item, YamlMap):
                groups += self._group_of(item)
            elif actor := self.name(item, "an actor"):
                if actor.name == EVERYONE:
                    hint = "write actors: everyone, without brackets"
                    self.wrong("A004", item, f"{EVERYONE} is no actor", hint)
                actors.append(actor)
        return Members(tuple(actors), tuple(groups))

    def _group_of(self, node: YamlMap) -> Iterator[Named]:
        """`{group: team}`."""
        fields = self.fields(node, "a group of actors", known=["group"], required=["group"])
        if "group" in fields and (named := self.name(fields["group"], "the name of a group")):
            yield named

    def _check_groups(self, named: tuple[Named, ...], groups: Mapping[str, Group]) -> None:
        for group in named:
            if group.name not in groups:
                hint = name_hint(group.name, groups)
                message = f"there is no group {clipped(group.name)}"
                self.findings.add("A007", group.place, message, hint)

    def _check_circles(self, groups: Mapping[str, Group]) -> None:
        """Each group that is reached from itself is told, at the line of its name."""
        for name, group in groups.items():
            seen: set[str] = set()
            ahead = [member.name for member in group.members.groups]
            while ahead:
                step = ahead.pop()
                if step == name:
                    message = f"group {clipped(name)} is a member of itself, through its groups"
                    self.findings.add("A008", group.name.place, message)
                    break
                if step not in seen and step in groups:
                    seen.add(step)
                    ahead += [member.name for member in groups[step].members.groups]

    def _actors(
        self, node: YamlNode | None
    ) -> tuple[dict[str, Mapping[str, Attribute]], dict[str, FieldKind]]:
        attributes: dict[str, Mapping[str, Attribute]] = {}
        kinds: dict[str, tuple[FieldKind, str]] = {}
        for actor, values in self.mapping(node, "actors").items() if node is not None else ():
            if not actor.name.strip():
                self.findings.add("A004", actor.place, "the name of an actor is not empty")
            own: dict[str, Attribute] = {}
            for name, value in self.mapping(values, f"actor {clipped(actor.name)}").items():
                read = self._attribute(name, value)
                if read is None:
                    continue
                own[name.name] = read
                kind, first = kinds.setdefault(name.name, (_kind(read), actor.name))
                if kind is not _kind(read):
                    message = f"{name.name} is of another type than that of {clipped(first)}"
                    self.findings.add("A010", name.place, message)
            attributes[actor.name] = own
        return attributes, {name: kind for name, (kind, _) in kinds.items()}

    def _attribute(self, name: Named, node: YamlNode) -> Attribute | None:
        if name.name == "id":
            message = "id is the name of the actor, so no other attribute has this name"
            self.findings.add("A010", name.place, message)
            return None
        match node:
            case YamlScalar(value=bool() | str() as value):
                return value
            case YamlScalar(value=int() as value) if value in INTEGERS:
                return value
            case YamlList():
                items = node.items
                texts = [i.value for i in items if isinstance(i, YamlScalar)]
                plain = tuple(text for text in texts if isinstance(text, str))
                if len(plain) == len(items):
                    return plain
            case _:
                pass
        message = f"{clipped(name.name)} is no value that rules can compare"
        hint = "write text, a whole number of 64 bits, true or false, or a list of texts"
        self.wrong("A010", node, message, hint)
        return None

    # Rules ---------------------------------------------------------------------------------------

    def _rule(self, node: YamlNode, groups: Mapping[str, Group]) -> Rule | None:
        known = ("id", *EFFECTS)
        fields = self.fields(node, "a rule", known=known, required=["id"])
        id_ = self.text(fields["id"], "the id of a rule") if "id" in fields else None
        effects = [word for word in EFFECTS if word in fields]
        if isinstance(node, YamlMap) and len(effects) != 1:
            self.wrong("A003", node, "a rule has either allow or deny")
        if id_ is None or len(effects) != 1:
            return None
        (word,) = effects
        place = self.place(fields["id"].span)
        return self._about(fields[word], id_, place, EFFECTS[word], groups)

    def _about(
        self,
        node: YamlNode,
        id_: str,
        place: Place,
        effect: Effect,
        groups: Mapping[str, Group],
    ) -> Rule | None:
        parts = self.fields(node, "a rule", known=RULE_KEYS, required=["actors", "actions"])
        if not {"actors", "actions"} <= parts.keys():
            return None
        actors = self._rule_actors(parts["actors"], groups)
        actions = self._actions(parts["actions"])
        types = properties = None
        if "types" in parts:
            types = self.names(parts["types"], "types", may_be_empty=False)
            self._check_row_actions(parts["actions"], actions)
        if "properties" in parts:
            properties = self.names(parts["properties"], "properties", may_be_empty=False)
            self._check_properties(parts["properties"], effect, has_types=types is not None)
        rule = Rule(
            id=id_,
            place=place,
            effect=effect,
            actors=actors,
            actions=actions,
            scope=self._scope(parts, actions),
            types=types,
            properties=properties,
            when=self._condition(parts.get("when")),
            unless=self._condition(parts.get("unless")),
        )
        return rule if actions else None

    def _rule_actors(self, node: YamlNode, groups: Mapping[str, Group]) -> Members | Everyone:
        match node:
            case YamlScalar(value=str() as word) if word == EVERYONE:
                return Everyone()
            case YamlMap():
                members = Members(groups=tuple(self._group_of(node)))
            case YamlList():
                members = self._members(self.items(node, "actors", may_be_empty=False))
            case _:
                message = "actors are a group, a list, or everyone"
                hint = "write {group: team}, [ada, {group: team}] or everyone"
                self.wrong("A004", node, message, hint)
                return Members()
        self._check_groups(members.groups, groups)
        return members

    def _actions(self, node: YamlNode) -> tuple[str, ...]:
        found: list[str] = []
        for action in self.names(node, "actions", may_be_empty=False):
            if action.name not in ACTIONS:
                message = f"there is no action {clipped(action.name)}"
                hint = name_hint(action.name, ACTIONS) or f"write {listed(ACTIONS)}"
                self.findings.add("A006", action.place, message, hint)
            else:
                found.append(action.name)
        return tuple(found)

    def _check_row_actions(self, node: YamlNode, actions: tuple[str, ...]) -> None:
        others = [action for action in actions if action not in ROW_ACTIONS]
        if others:
            message = f"{listed(others, 'and')} is not done to rows, so the rule can't have types"
            self.wrong(
                "A006", node, message, f"write a rule of its own for {listed(others, 'and')}"
            )

    def _check_properties(self, node: YamlNode, effect: Effect, *, has_types: bool) -> None:
        if effect == "permit":
            message = "properties are shown unless a rule hides them, so allow can't name them"
            self.wrong("A017", node, message, "write deny, with the properties to hide")
        if not has_types:
            self.wrong("A003", node, "a rule with properties needs types")

    def _scope(self, parts: Mapping[str, YamlNode], actions: tuple[str, ...]) -> Scope | None:
        given = [kind for kind in ScopeKind if kind.value in parts]
        if len(given) > 1:
            first = parts[given[0].value]
            self.wrong("A009", first, "a rule has branch_scope or target_branch_scope, not both")
        for kind in given[:1]:
            node = parts[kind.value]
            for action in actions:
                if ACTIONS[action] is not kind:
                    self._misplaced_scope(node, action, kind)
            word = self.word(node, "scope", SCOPES, "A009")
            if word in ("protected", "unprotected"):
                return Scope(kind, is_protected=word == "protected")
        return None

    def _misplaced_scope(self, node: YamlNode, action: str, kind: ScopeKind) -> None:
        right = ACTIONS[action]
        hint = "leave it out" if right is None else f"write {right.value}, in a rule of its own"
        self.wrong("A009", node, f"{kind.value} does not go with {action}", hint)

    def _condition(self, node: YamlNode | None) -> Written | None:
        if node is None:
            return None
        if isinstance(node, YamlScalar) and isinstance(node.value, bool):
            return Written({"Value": node.value}, self.place(node.span))
        text = self.text(node, "a condition")
        if text is None:
            return None
        try:
            return Written(condition_nodes(text), self.place(node.span))
        except CedarRefused as refused:
            self.wrong("A011", node, f"the condition can't be read: {refused}")
            return None


def _kind(value: Attribute) -> FieldKind:
    match value:
        case bool():
            return FieldKind.BOOLEAN
        case int():
            return FieldKind.NUMBER
        case str():
            return FieldKind.TEXT
        case tuple():
            return FieldKind.TEXTS
