"""Repeats in PyTorch a run that `parsity train` made, and compares every tensor.

Both start from the same file of initial parameters and see the same batches, in
the order of the data files. PyTorch runs in float32 and in float64. Exits with 1 if
a tensor differs from both by more than 1e-4 of its largest value (a ReLU or max-pool
near its kink can throw one float32 run off its course; float64 is the truth), or the
masks in more than 0.1 % of the parameters.
Arguments after `--` are handed to the binary as they are.
"""

import argparse
import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from reference import (
    MODELS,
    Optimizer,
    Parameters,
    batches_in_order,
    initial_parameters,
    keep_highest,
    normalise,
    snip_scores,
    train,
)

TOLERANCE = 1e-4
MASK_TOLERANCE = 1e-3
BIAS_DEVIATION = 0.05


# ---- Data --------------------------------------------------------------------


def read_idx(folder: Path, stem: str) -> np.ndarray:
    """The bytes of an IDX file, plain or gzipped, in its shape."""
    names = [f"{stem}{suffix}" for suffix in ("", ".gz")]
    path = next((folder / name for name in names if (folder / name).exists()), None)
    if path is None:
        raise SystemExit(f"{folder}: expected one of {', '.join(names)}")
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if content[:3] != b"\x00\x00\x08":
        raise SystemExit(f"{path}: not an IDX file of bytes")
    rank = content[3]
    shape = np.frombuffer(content, ">u4", rank, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * rank).reshape(shape)


def read_cifar10(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """The five training batches: rows of a label and 3 × 32 × 32 bytes."""
    paths = [folder / f"data_batch_{number}.bin" for number in range(1, 6)]
    for path in paths:
        if not path.exists():
            raise SystemExit(f"{path}: not found; expected data_batch_1.bin to data_batch_5.bin")
    rows = np.concatenate([np.fromfile(path, np.uint8).reshape(-1, 3073) for path in paths])
    return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0]


def read_training_set(dataset: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Images [n, c, h, w] and labels of the official training set, in file order."""
    if dataset == "cifar10":
        return read_cifar10(folder)
    images = read_idx(folder, "train-images-idx3-ubyte")
    return images[:, None], read_idx(folder, "train-labels-idx1-ubyte")


# ---- The two runs ------------------------------------------------------------


def run_parsity(arguments: argparse.Namespace, initial: dict[str, np.ndarray]) -> Parameters:
    """The tensors that the binary saves after training from the initial parameters."""
    with tempfile.TemporaryDirectory() as folder:
        start, end = f"{folder}/init.safetensors", f"{folder}/out.safetensors"
        save_file({name: torch.from_numpy(value) for name, value in initial.items()}, start)
        command = [arguments.parsity, "train"]
        command += ["--dataset", arguments.dataset, "--model", arguments.model]
        command += ["--optimizer", arguments.optimizer]
        command += ["--learning-rate", str(arguments.learning_rate)]
        if arguments.optimizer != "sgd":
            command += ["--momentum", str(arguments.momentum)]
        command += ["--batch-size", str(arguments.batch_size)]
        command += ["--sparsity", str(arguments.sparsity), "--steps", str(arguments.steps)]
        command += ["--order", "sequential", "--validation", "none"]
        command += ["--init", start, "--save", end, *arguments.rest]
        print("$", *command, flush=True)
        status = subprocess.run(command).returncode
        if status != 0:
            raise SystemExit(f"{arguments.parsity} ended with status {status}")
        return load_file(end)


def run_torch(
    arguments: argparse.Namespace, initial: dict[str, np.ndarray], theirs: Parameters
) -> tuple[Parameters, Parameters, int]:
    """The same run in PyTorch, trained in float32 and in float64, and how many mask positions differ.

    Where saliencies nearly tie, rounding decides which parameter survives. The
    masks are compared first; then training uses those of the binary, so that
    the weights stay comparable.
    """
    model = MODELS[arguments.model]
    image_bytes, label_bytes = read_training_set(arguments.dataset, arguments.data_folder)
    if image_bytes.shape[1:] != model.image:
        raise SystemExit(f"{arguments.model} needs images {model.image}, found {image_bytes.shape[1:]}")
    images = normalise(image_bytes, torch.float32)
    labels = torch.from_numpy(label_bytes).long()
    parameters = {name: torch.from_numpy(value) for name, value in initial.items()}

    masks, differing = None, 0
    if arguments.sparsity > 0:
        ours = keep_highest(snip_scores(model, parameters, images, labels), arguments.sparsity)
        masks = {name: saved(theirs, f"{name}.mask", ours[name].shape) for name in ours}
        differing = sum(int((ours[name] != masks[name]).sum()) for name in ours)
        kept = [sum(int(mask.sum()) for mask in side.values()) for side in (ours, masks)]
        print(f"survivors: PyTorch {kept[0]}, Parsity {kept[1]}")
        if kept[0] != kept[1]:
            raise SystemExit("the numbers of survivors differ")
    optimizer = Optimizer(arguments.optimizer, arguments.learning_rate, arguments.momentum)
    trained = {}
    for dtype in (torch.float32, torch.float64):
        start = {name: value.to(dtype) for name, value in parameters.items()}
        batches = batches_in_order(images, labels, arguments.batch_size, arguments.steps)
        batches = ((batch.to(dtype), classes) for batch, classes in batches)
        trained[dtype], losses = train(model, start, optimizer, batches, masks)
    print("losses in PyTorch:", *(f"{loss:.4f}" for loss in losses))
    return trained[torch.float32], trained[torch.float64], differing


# ---- The comparison ----------------------------------------------------------


def saved(theirs: Parameters, name: str, shape: torch.Size) -> torch.Tensor:
    """A tensor of the saved file, which must be there in the expected shape."""
    if name not in theirs:
        raise SystemExit(f"the saved file has no tensor {name}; it has {', '.join(sorted(theirs))}")
    if theirs[name].shape != shape:
        raise SystemExit(f"{name}: expected shape {tuple(shape)}, found {tuple(theirs[name].shape)}")
    return theirs[name]


def relative_difference(a: torch.Tensor, b: torch.Tensor) -> float:
    """max |a − b| / max |b|; absolute where b is all zeros; infinite if a number is not finite."""
    if not (a.isfinite().all() and b.isfinite().all()):
        return float("inf")
    scale = b.abs().max().item()
    return (a - b).abs().max().item() / (scale if scale > 0 else 1.0)


def agree(theirs: Parameters, ours: Parameters, exact: Parameters, differing: int) -> bool:
    """Prints the differences of each tensor and of the masks; whether all are small enough.

    The last column is PyTorch's own rounding. Where it is large too, an
    activation sits on a kink of ReLU or max-pooling and rounding chose the
    branch: another seed then tells more than another look at the code.
    """
    worst = 0.0
    print(f"{'tensor':24} {'Parsity−float32':>16} {'Parsity−float64':>16} {'float32−float64':>16}")
    for name, b in ours.items():
        a = saved(theirs, name, b.shape)
        pairs = ((a, b), (a, exact[name]), (b, exact[name]))
        differences = [relative_difference(*pair) for pair in pairs]
        difference = min(differences[:2])
        worst = max(worst, difference)
        note = "" if difference <= TOLERANCE else "  TOO LARGE"
        print(f"{name:24}", *(f"{difference:16.2e}" for difference in differences), note)
    count = sum(value.numel() for value in ours.values())
    allowed = int(MASK_TOLERANCE * count)
    print(f"mask positions that differ: {differing} of {count} (at most {allowed})")
    print(f"largest difference: {worst:.2e} (at most {TOLERANCE:.0e})")
    return worst <= TOLERANCE and differing <= allowed


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parsity", required=True, help="path of the binary")
    parser.add_argument("--dataset", choices=("mnist", "fashion-mnist", "cifar10"), required=True)
    parser.add_argument("--data-folder", type=Path, required=True, help="IDX or data_batch_N.bin files")
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--optimizer", choices=("sgd", "momentum", "nesterov"), required=True)
    parser.add_argument("--learning-rate", type=float, required=True)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--sparsity", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0, help="of the initial parameters")
    parser.add_argument("rest", nargs="*", help="after --: further arguments of the binary")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    initial = initial_parameters(MODELS[arguments.model], arguments.seed, BIAS_DEVIATION)
    theirs = run_parsity(arguments, initial)
    ours, exact, differing = run_torch(arguments, initial, theirs)
    return 0 if agree(theirs, ours, exact, differing) else 1


if __name__ == "__main__":
    sys.exit(main())
