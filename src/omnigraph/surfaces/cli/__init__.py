"""The command line. Commands import the engine when they run, so that help is quick."""
