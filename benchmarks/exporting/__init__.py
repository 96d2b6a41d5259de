"""What exported files cost."""
