"""What no library declares: operations that the user names, stages that are guessed, loops that report nothing."""
