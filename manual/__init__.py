"""The parts of README and docs that code makes, so that they cannot say anything else."""
