"""This package runs all studies at once: their order, their drawings, and the page that shows how far each one is."""
