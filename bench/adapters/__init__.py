"""One module per system, with one class per workload that it takes part in."""
