"""A server over what a deployment has applied, in this process."""

from dataclasses import replace
from typing import Any

from starlette.testclient import TestClient

from omnigraph.engine.settings import TokenSources
from omnigraph.surfaces.server.app import App
from omnigraph.surfaces.server.limits import ServerLimits
from omnigraph.surfaces.server.offering import ClusterOffer
from omnigraph.surfaces.server.starting import ServerConfig
from tests.cluster.world import Deployment, settings

ADA = {"Authorization": "Bearer a-token"}
BOB = {"Authorization": "Bearer b-token"}
BOTH = '{"ada": "a-token", "bob": "b-token"}'


class Server:
    """The application, over what a deployment has applied."""

    def __init__(self, deployment: Deployment, *, is_open: bool = False, **more: Any) -> None:
        sources = TokenSources() if is_open else TokenSources(json=BOTH)
        self.offer = ClusterOffer(
            ServerConfig(
                store=deployment.storage,
                is_cluster=True,
                is_unauthenticated=is_open,
                settings=replace(settings(), token_sources=sources),
                **more,
            )
        )
        self.app = App(self.offer.serving(), ServerLimits())
        self.client = TestClient(self.app, raise_server_exceptions=False)

    def reload(self) -> None:
        self.app.serving = self.offer.serving()

    def graphs(self) -> list[str]:
        return [each["graph_id"] for each in self.get("/graphs").json()["graphs"]]

    def get(self, path: str, who: dict[str, str] | None = None) -> Any:
        return self.client.get(path, headers=ADA if who is None else who)

    def post(self, path: str, body: Any, who: dict[str, str] | None = None) -> Any:
        return self.client.post(path, json=body, headers=ADA if who is None else who)
