"""Learners and policies for gym-grounding; everything that needs torch, h5py or stable-baselines3 lives here."""
