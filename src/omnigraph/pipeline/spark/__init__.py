"""The JVM and its session: find Java, launch, connect, run tasks, stop."""
