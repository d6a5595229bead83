"""Plans of paid tasks on a released map: who is near, who accepts, whom to ask, what to offer."""
