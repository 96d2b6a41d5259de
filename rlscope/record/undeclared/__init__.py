"""No library declares these: operations that the user names, stages that are guessed, loops that report nothing."""
