"""The way to the bucket of a test run, found in the environment by every process of it.

Apart from `places`, which starts the server: a child that only opens a graph needs none of that.
"""

import os
from pathlib import Path

from omnigraph.store.location import BucketAccess, Location, graph_location

ENDPOINT = "OMNIGRAPH_TEST_S3"
BUCKET = "graphs"
CARELESS = "careless"
"""A bucket in which the conditions of puts are ignored, as in some stores."""


def bucket_variables(endpoint: str, *, secret: str = "secret") -> dict[str, str]:
    """The variables that a user sets; the general endpoint leads nowhere, the one of S3 wins."""
    return {
        "AWS_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "tester",
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
        "AWS_ENDPOINT_URL_S3": endpoint,
        "AWS_S3_FORCE_PATH_STYLE": "true",
        "AWS_ALLOW_HTTP": "true",
    }


def bucket_access() -> BucketAccess:
    return BucketAccess(
        access_key_id="tester",
        secret_access_key="secret",
        endpoint=os.environ.get(ENDPOINT),
        allows_http=True,
    )


def location_of(place: Path | str | Location) -> Location:
    """A place of a test, with the way to it."""
    return graph_location(str(place), bucket_access())
