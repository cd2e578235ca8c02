"""What a person has told the command line once and for all: their configuration, their tokens."""
