"""A social graph with places and interests, and the questions of the study; see `questions`."""
