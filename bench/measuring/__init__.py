"""Systems in processes of their own, and what those take."""
