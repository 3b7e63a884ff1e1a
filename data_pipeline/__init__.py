"""From repositories to training examples: collect, filter, sample, retrieve, label, assemble."""
