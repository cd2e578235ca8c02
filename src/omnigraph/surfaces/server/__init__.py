"""`omnigraph serve`: graphs over HTTP, for many people and agents at once.

It holds no logic of its own: it reads the request, calls `Graph`, and shapes the answer. Only this
package imports starlette and uvicorn, and nothing imports it before a server is started.
"""
