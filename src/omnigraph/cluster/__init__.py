"""Deployments as code: a folder says which graphs there are, and an apply makes it so."""
