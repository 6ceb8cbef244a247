"""Training: one loop, the continual stages around it, checkpoints and logs."""
