"""Bulk work on Spark: sources ─► conform ─► check ─► stage. The only room that imports pyspark.

Tasks write files and nothing here publishes: a load hands its staged files to the engine, which
lands and publishes them once. Tasks import this package, so every executor needs it installed (on
one machine it is: workers run the interpreter of the driver).
"""
