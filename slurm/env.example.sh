# What is particular to your cluster. Copy this to slurm/env.sh and edit it; the three scripts read it on every node.
# Partition, account and GPUs go to sbatch: sbatch --partition=gpu --gpus-per-node=8 slurm/train.sbatch ...

source .venv/bin/activate                             # or: module load ...; conda activate ...

export LAUNCH_CONFIG=recipes/accelerate/ddp.yaml      # `repoformer plan RECIPE` says which one fits
# export PROCESSES_PER_NODE=8                         # default: the GPUs that SLURM gives to a node
# export HF_HOME=/shared/huggingface                  # where models lie; compute nodes often have no network:
export HF_HUB_OFFLINE=1                               # download them before, on a node that has
export WANDB_MODE=offline
export OMP_NUM_THREADS=8
# export MAIN_ADDRESS=...                             # where processes meet; default: the first node's name
# export NCCL_SOCKET_IFNAME=ib0                       # the interface between nodes, where NCCL chooses wrongly
