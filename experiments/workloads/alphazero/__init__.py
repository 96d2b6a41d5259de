"""AlphaZero-style learning of a board game in many processes: self-play, training, evaluation."""
