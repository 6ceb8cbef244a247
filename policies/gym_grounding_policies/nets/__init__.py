"""The networks that all learners share: one actor, built from a profile, whose linear layers adapters can change."""
