"""The way to the bucket of a test run, found in the environment by every process of it.

Apart from `places`, which starts the server: a child that only opens a graph needs none of that.
"""

import os

from omnigraph.store.root import BucketAccess

ENDPOINT = "OMNIGRAPH_TEST_S3"
BUCKET = "graphs"
CARELESS = "careless"
"""A bucket in which the conditions of puts are ignored, as in some stores."""


def bucket_access() -> BucketAccess:
    return BucketAccess(
        access_key_id="tester",
        secret_access_key="secret",
        endpoint=os.environ.get(ENDPOINT),
        allows_http=True,
    )
