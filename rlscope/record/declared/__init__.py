"""The kinds of declarations that are made for libraries, and how each is put in place once its library is imported."""
