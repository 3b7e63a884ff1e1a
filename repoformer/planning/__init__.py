"""What a training run will need, computed before anything is launched: ``repoformer plan``."""
