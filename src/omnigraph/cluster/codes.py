"""Every code of a finding in `cluster.yaml`, and what it means in one sentence.

The page for users and the tests read this table. Findings in schemas, queries and policies have the
codes of their own languages.
"""

__all__ = ["CODES"]

CODES: dict[str, str] = {
    "K001": "The file can't be read: it is missing, or no YAML that means one thing.",
    "K002": "There is no such field here.",
    "K003": "The field is reserved for later versions.",
    "K004": "The value is not of the kind that is needed here.",
    "K005": "A field is missing.",
    "K006": "The file is missing, lies outside the folder, or is of another kind.",
    "K007": "The name is declared nowhere.",
    "K008": "The same thing is declared twice.",
    "K009": "A secret stands here in clear: write `${VARIABLE}`.",
}
