"""A trial harms nothing: name spaces with overlays, or a copy of the folder with an audit hook."""
