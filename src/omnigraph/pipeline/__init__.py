"""Bulk work: sources ─► conform ─► stage ─► resolve. The only room that imports pyspark.

A runner (`runner`) runs tasks and SQL: Spark (`session`), or this process (`local`), which may not
import pyspark. Tasks write files and nothing here publishes: a load hands what it has resolved to
the engine, which lands and publishes it once. Tasks import this package, so every executor needs it
installed (on one machine it is: workers run the interpreter of the driver).
"""
