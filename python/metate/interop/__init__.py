"""Other programs' formats: each module is imported by name, and says which library it needs."""
