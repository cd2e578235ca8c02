"""Graphs of other systems, brought into ours: what they hold becomes a proposal (a schema and a
mapping), and tables that a load reads.

A reader of a format (`kuzu`, `neo4j_csv`, `apoc`, `graphml`) gives blocks of nodes and edges with
cells as text. A survey of the blocks (`survey`) finds types, properties and what joins them; the
proposal (`propose`) gives these names and types of ours; `tables` writes the blocks down as CSV
beside the graph. Nothing here decides whether a row is right: the load does, as of any other rows.
"""
