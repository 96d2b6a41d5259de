"""Rules: each looks in the analysis of a run for one thing that makes training slow, and says what to change."""
