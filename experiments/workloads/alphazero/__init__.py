"""This package learns a board game as AlphaZero does, in many processes: self-play, training, evaluation."""
