"""A plan on Spark: operators become operations on frames, for what one machine can't hold."""
