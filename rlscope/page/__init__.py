"""The page that people look at: what it holds of a trace, and how it is put together from its modules."""
