"""Graph algorithms: `links` and the kernels beside it are arrays only; `network` reads tables."""
