"""Writes the golden files that the engine is tested against.

Computed in float64, from float32 beginnings, and stored as float32: the truth
rather than one framework's rounding. `--dtype float32` shows PyTorch's own.
"""

import argparse
import json
import math
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load, save
from torch import Tensor

from reference import (
    CLASSES,
    MODELS,
    Model,
    Optimizer,
    Parameters,
    batches_in_order,
    initial_parameters,
    keep_highest,
    loss_and_gradient,
    normalise,
    snip_scores,
    train,
)

IMAGES = 200
BATCH_SIZE = 16
STEPS = 10
SPARSITY = 0.9
BIAS_DEVIATION = 0.05
# Ten steps make clear progress at these learning rates. Seeds and rates are such
# that no ReLU or max-pool that matters sits so close to its kink that float32 takes
# the other branch, and no saliency so close to the threshold that a mask flips.
SEEDS = {"simple-cnn": 10, "resnet-8": 88}
LEARNING_RATES = {
    "simple-cnn": {"sgd": 0.01, "momentum": 0.005, "nesterov": 0.005},
    "resnet-8": {"sgd": 0.08, "momentum": 0.03, "nesterov": 0.05},
}


def optimizers(model: Model) -> dict[str, Optimizer]:
    """The runs of a golden file."""
    rates = LEARNING_RATES[model.name]
    linear = Optimizer("momentum", rates["momentum"], 0.9, decay_steps=8, end_factor=0.1)
    return {
        "sgd": Optimizer("sgd", rates["sgd"]),
        "momentum": Optimizer("momentum", rates["momentum"], 0.9),
        "nesterov": Optimizer("nesterov", rates["nesterov"], 0.9),
        "momentum-linear": linear,
    }


def made_up_images(shape: tuple[int, int, int], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Bytes [200, c, h, w] and labels: a blob per class, jittered, in its colour, with noise."""
    channels, height, width = shape
    random = np.random.RandomState(seed)
    labels = random.permutation(np.arange(IMAGES) % CLASSES)
    colours = random.uniform(-0.7, 0.9, (CLASSES, channels))
    rows, columns = np.mgrid[0:height, 0:width]
    images = np.empty((IMAGES, *shape))
    for image, label in zip(images, labels):
        angle = 2 * math.pi * label / CLASSES
        row, column = random.normal(0, 1.2, 2) + (
            height / 2 + height / 4 * math.sin(angle),
            width / 2 + width / 4 * math.cos(angle),
        )
        spread = random.uniform(0.15, 0.22) * height
        blob = np.exp(-((rows - row) ** 2 + (columns - column) ** 2) / (2 * spread**2))
        image[:] = 0.4 + colours[label][:, None, None] * blob + random.normal(0, 0.12, shape)
    return np.clip(np.rint(images * 255), 0, 255).astype(np.uint8), labels.astype(np.uint8)


def golden_tensors(model: Model, dtype: torch.dtype) -> dict[str, Tensor]:
    """Everything that a golden file holds, by name."""
    image_bytes, label_bytes = made_up_images(model.image, SEEDS[model.name])
    images = normalise(image_bytes, dtype)
    labels = torch.from_numpy(label_bytes).long()
    initial = {
        name: torch.from_numpy(value)
        for name, value in initial_parameters(model, SEEDS[model.name], BIAS_DEVIATION).items()
    }
    parameters = {name: value.to(dtype) for name, value in initial.items()}

    tensors = {"images": torch.from_numpy(image_bytes), "labels": torch.from_numpy(label_bytes)}

    def add(prefix: str, values: Parameters) -> None:
        tensors.update({f"{prefix}.{name}": value for name, value in values.items()})

    add("init", initial)
    batch = slice(0, BATCH_SIZE)
    loss, gradient = loss_and_gradient(model, parameters, images[batch], labels[batch])
    tensors["logits"] = model.logits(parameters, images[batch])
    tensors["loss"] = loss.reshape(1)
    add("grad", gradient)

    scores = snip_scores(model, parameters, images, labels)
    masks = keep_highest(scores, SPARSITY)
    add("snip", scores)
    add("mask90", masks)

    for name, optimizer in optimizers(model).items():
        for kind, pattern in (("dense", None), ("sparse90", masks)):
            batches = batches_in_order(images, labels, BATCH_SIZE, STEPS)
            trained, losses = train(model, parameters, optimizer, batches, pattern)
            add(f"{name}.{kind}", trained)
            tensors[f"{name}.{kind}.losses"] = losses
    tensors = {
        name: value if value.dtype == torch.uint8 else value.float()
        for name, value in tensors.items()
    }
    for name, o in optimizers(model).items():
        hyper = [o.learning_rate, o.momentum, o.decay_steps, o.end_factor]
        tensors[f"hyper.{name}"] = torch.tensor(hyper, dtype=torch.float64)
    return tensors


def golden_metadata(model: Model, dtype: str) -> dict[str, str]:
    """What the tensors were computed with, in words."""
    metadata = {
        "model": model.name,
        "dtype": dtype,
        "batch_size": str(BATCH_SIZE),
        "steps": str(STEPS),
        "sparsity": str(SPARSITY),
    }
    for name, optimizer in optimizers(model).items():
        for key in ("rule", "learning_rate", "momentum", "decay_steps", "end_factor"):
            metadata[f"{name}.{key}"] = str(getattr(optimizer, key))
    return metadata


def to_bytes(tensors: dict[str, Tensor], metadata: dict[str, str]) -> bytes:
    """A safetensors file whose metadata is sorted: the library writes it in a random order."""
    file = save({name: value.contiguous() for name, value in tensors.items()}, metadata)
    length = int.from_bytes(file[:8], "little")
    header = json.loads(file[8 : 8 + length])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    # The same text in another order, so that offsets and alignment stay as they are.
    text = json.dumps(header, separators=(",", ":")).encode().ljust(length)
    assert len(text) == length
    result = file[:8] + text + file[8 + length :]
    assert all(torch.equal(value, tensors[name]) for name, value in load(result).items())
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of the golden files")
    parser.add_argument("--dtype", choices=("float64", "float32"), default="float64")
    arguments = parser.parse_args()
    # The order of a sum must not depend on the machine's number of cores.
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for model in MODELS.values():
        tensors = golden_tensors(model, getattr(torch, arguments.dtype))
        path = arguments.out / f"{model.name}.safetensors"
        path.write_bytes(to_bytes(tensors, golden_metadata(model, arguments.dtype)))
        print(f"{path}: {len(tensors)} tensors, {path.stat().st_size:,} bytes")
        for name, value in tensors.items():
            if name.endswith(".losses"):
                print(f"  {name:32}", *(f"{loss:.3f}" for loss in value))


if __name__ == "__main__":
    main()
