"""Results as a notebook shows them: tables and pictures in HTML that need nothing from outside.

A page of a notebook is light or dark, and is not ours: colours are `currentColor` or are seen on
both, nothing paints a background, and no style reaches beyond its own picture. All text that comes
from data passes `page.safe`. Nothing here is imported before something is shown.
"""
