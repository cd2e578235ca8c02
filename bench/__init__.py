"""Ourselves beside other systems. `README.md` says what each program measures."""
