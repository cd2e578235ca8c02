"""What travels over HTTP, as structs: requests, answers, errors. Clients rely on every name."""
