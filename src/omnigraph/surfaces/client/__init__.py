"""The client: a backend that sends what a handle asks for to a server, over HTTP."""
