"""Rules about rows beside each other: unique values, endpoints, cardinality."""
