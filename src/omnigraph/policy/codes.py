"""Every code of a finding in a policy, and what it means in one sentence.

The page for users and the tests read this table: a code is here, produced by a test, and explained.
"""

__all__ = ["CODES"]

CODES: dict[str, str] = {
    "A001": "The file can't be read: it is missing, too long, or neither YAML nor Cedar.",
    "A002": "A bundle has at most one YAML file, and files of Cedar beside it or instead of it.",
    "A003": "There is no such key here, or a key is missing.",
    "A004": "The value is not of the kind that is needed here.",
    "A005": "Two rules have the same id.",
    "A006": "There is no such action, or the rule can't be about it.",
    "A007": "There is no such group.",
    "A008": "A group is, through other groups, a member of itself.",
    "A009": "The scope is no scope, or does not go with the actions of the rule.",
    "A010": "An actor has an attribute that rules can't compare.",
    "A011": "The condition can't be read.",
    "A012": "The schema has no such type.",
    "A013": "The type has no such property, or the property has no such value.",
    "A014": "The condition looks at what actors or requests do not have.",
    "A015": "The rule does not fit the schema: values of different types meet, for one.",
    "A016": "The rule can't become a test of rows.",
    "A017": "The property can't be hidden, or not by this rule.",
    "A018": "The rule names a thing that no request is about.",
}
