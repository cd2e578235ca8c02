"""Rules a row keeps or breaks by itself: types, required values, enums, ranges, keys."""
