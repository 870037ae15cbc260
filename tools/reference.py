"""The networks, the optimizers and SNIP in plain PyTorch.

This is the independent word on what the engine computes: written from the
protocol and not from the engine, for reading rather than for speed. Parameters
are a dictionary from name to tensor, whose order is the order in which SNIP
breaks ties. All functions compute in the dtype of what they are given.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

Parameters = dict[str, Tensor]

CLASSES = 10
SNIP_BATCH_SIZE = 100
# A standard normal cut at ±2 has this deviation; dividing by it restores 1.
TRUNCATED_DEVIATION = 0.87962566103423978


# ---- Networks ----------------------------------------------------------------


def pad_same(x: Tensor, kernel: int, stride: int) -> Tensor:
    """TensorFlow's "same": ceil(n / stride) outputs, the smaller half before."""
    sides = []
    for side in (x.shape[3], x.shape[2]):  # F.pad wants the last dimension first.
        outputs = math.ceil(side / stride)
        total = max((outputs - 1) * stride + kernel - side, 0)
        sides += [total // 2, total - total // 2]
    return F.pad(x, sides)


def simple_cnn(p: Parameters, x: Tensor) -> Tensor:
    """Logits of Simple-CNN for images [n, 1, 28, 28]."""
    for layer in ("conv1", "conv2"):
        x = F.conv2d(x, p[f"{layer}.weight"], p[f"{layer}.bias"])
        x = F.max_pool2d(F.relu(x), 2)
    return F.linear(x.flatten(1), p["dense.weight"], p["dense.bias"])


def resnet_8(p: Parameters, x: Tensor) -> Tensor:
    """Logits of ResNet-8 for images [n, 3, 32, 32]."""

    def conv(layer: str, x: Tensor, stride: int = 1) -> Tensor:
        return F.conv2d(pad_same(x, 3, stride), p[f"{layer}.weight"], p[f"{layer}.bias"], stride)

    x = conv("conv", x)
    for block, stride in (("block1", 1), ("block2", 2), ("block3", 2)):
        shortcut = x
        x = F.relu(x)
        if stride == 2:  # The width doubles: halve the sides, add empty channels.
            pooled = F.avg_pool2d(x, 2)
            shortcut = torch.cat([pooled, torch.zeros_like(pooled)], dim=1)
        x = conv(f"{block}.conv1", x, stride)
        x = conv(f"{block}.conv2", F.relu(x))
        x = x + shortcut
    return F.linear(F.relu(x).mean(dim=(2, 3)), p["dense.weight"], p["dense.bias"])


@dataclass(frozen=True)
class Model:
    """A network: the shape of its images, its layers in order, its function."""

    name: str
    image: tuple[int, int, int]
    layers: dict[str, tuple[int, ...]]  # Shape of each layer's weight.
    size: int
    logits: Callable[[Parameters, Tensor], Tensor]

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every parameter, in order; a layer's bias follows its weight."""
        shapes = {}
        for layer, weight in self.layers.items():
            shapes[f"{layer}.weight"] = weight
            shapes[f"{layer}.bias"] = weight[:1]
        assert sum(map(math.prod, shapes.values())) == self.size
        return shapes


SIMPLE_CNN = Model(
    name="simple-cnn",
    image=(1, 28, 28),
    layers={"conv1": (32, 1, 5, 5), "conv2": (64, 32, 5, 5), "dense": (CLASSES, 1024)},
    size=62_346,
    logits=simple_cnn,
)
RESNET_8 = Model(
    name="resnet-8",
    image=(3, 32, 32),
    layers={
        "conv": (16, 3, 3, 3),
        "block1.conv1": (16, 16, 3, 3),
        "block1.conv2": (16, 16, 3, 3),
        "block2.conv1": (32, 16, 3, 3),
        "block2.conv2": (32, 32, 3, 3),
        "block3.conv1": (64, 32, 3, 3),
        "block3.conv2": (64, 64, 3, 3),
        "dense": (CLASSES, 64),
    },
    size=75_050,
    logits=resnet_8,
)
MODELS = {model.name: model for model in (SIMPLE_CNN, RESNET_8)}


def initial_parameters(model: Model, seed: int, bias_deviation: float) -> dict[str, np.ndarray]:
    """Variance scaling (fan-in, scale 1, normal cut at 2σ) in float32.

    Training starts biases at 0; a comparison gives them a deviation, so that a
    mistake about biases shows. RandomState, because its stream is frozen.
    """
    random = np.random.RandomState(seed)
    parameters = {}
    for name, shape in model.shapes().items():
        if name.endswith(".bias"):
            values = bias_deviation * random.standard_normal(shape)
        else:
            values = random.standard_normal(shape)
            while (cut := np.abs(values) > 2).any():
                values[cut] = random.standard_normal(cut.sum())
            values *= math.sqrt(1 / math.prod(shape[1:])) / TRUNCATED_DEVIATION
        parameters[name] = values.astype(np.float32)
    return parameters


def normalise(images: np.ndarray, dtype: torch.dtype) -> Tensor:
    """(x/255 − mean) / deviation with each channel's own statistics, for bytes [n, c, h, w]."""
    channels = []
    for channel in range(images.shape[1]):
        counts = np.bincount(images[:, channel].reshape(-1), minlength=256)
        values = np.arange(256) / 255
        mean = np.average(values, weights=counts)
        deviation = math.sqrt(np.average((values - mean) ** 2, weights=counts))
        table = torch.from_numpy((values - mean) / deviation).to(dtype)
        channels.append(table[torch.from_numpy(images[:, channel].copy()).long()])
    return torch.stack(channels, dim=1)


# ---- Gradients and pruning ---------------------------------------------------


def loss_and_gradient(
    model: Model, parameters: Parameters, images: Tensor, labels: Tensor
) -> tuple[Tensor, Parameters]:
    """Mean softmax cross-entropy and its gradient."""
    leaves = {name: value.detach().requires_grad_() for name, value in parameters.items()}
    loss = F.cross_entropy(model.logits(leaves, images), labels)
    gradient = torch.autograd.grad(loss, list(leaves.values()))
    return loss.detach(), dict(zip(leaves, gradient))


def snip_scores(model: Model, parameters: Parameters, images: Tensor, labels: Tensor) -> Parameters:
    """|w · Σ g|, with g the gradient of each batch's mean loss."""
    total = {name: torch.zeros_like(value) for name, value in parameters.items()}
    for start in range(0, len(labels), SNIP_BATCH_SIZE):
        batch = slice(start, start + SNIP_BATCH_SIZE)
        _, gradient = loss_and_gradient(model, parameters, images[batch], labels[batch])
        for name in total:
            total[name] += gradient[name]
    return {name: (parameters[name] * total[name]).abs() for name in parameters}


def survivors(count: int, sparsity: float) -> int:
    """round(n(1 − s)), halves up; the rounding to 9 digits hides that 1 − 0.9 is not 0.1."""
    return math.floor(round(count * (1 - sparsity), 9) + 0.5)


def keep_highest(scores: Parameters, sparsity: float) -> Parameters:
    """Masks (1 kept, 0 pruned) of the highest scores of all parameters together.

    A stable sort gives ties to the lower index.
    """
    flat = torch.cat([score.flatten() for score in scores.values()])
    kept = torch.argsort(flat, descending=True, stable=True)[: survivors(len(flat), sparsity)]
    mask = torch.zeros(len(flat), dtype=torch.uint8)
    mask[kept] = 1
    parts = mask.split([score.numel() for score in scores.values()])
    return {name: part.reshape(scores[name].shape) for name, part in zip(scores, parts)}


# ---- Training ----------------------------------------------------------------


@dataclass(frozen=True)
class Optimizer:
    """An update rule with its metaparameters; no decay steps means a constant rate."""

    rule: str  # sgd, momentum or nesterov
    learning_rate: float
    momentum: float = 0.0
    decay_steps: int = 0
    end_factor: float = 1.0

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        if self.decay_steps == 0:
            return self.learning_rate
        end = self.end_factor * self.learning_rate
        left = 1 - min(step, self.decay_steps) / self.decay_steps
        return (self.learning_rate - end) * left + end

    def update(self, step: int, w: Tensor, a: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
        """The next weight and accumulator."""
        rate = self.rate(step)
        if self.rule == "sgd":
            return w - rate * g, a
        a = self.momentum * a + g
        if self.rule == "momentum":
            return w - rate * a, a
        if self.rule == "nesterov":
            return w - rate * (g + self.momentum * a), a
        raise ValueError(f"unknown rule {self.rule!r}: expected sgd, momentum or nesterov")


def train(
    model: Model,
    parameters: Parameters,
    optimizer: Optimizer,
    batches: Iterable[tuple[Tensor, Tensor]],
    masks: Parameters | None = None,
) -> tuple[Parameters, Tensor]:
    """One step per batch; the parameters afterwards, and the loss before each step.

    Parameters that the masks prune are 0 from the start, and stay so.
    """
    if masks is None:
        masks = {name: torch.ones_like(value) for name, value in parameters.items()}
    weights = {name: value * masks[name] for name, value in parameters.items()}
    accumulators = {name: torch.zeros_like(value) for name, value in parameters.items()}
    losses = []
    for step, (images, labels) in enumerate(batches):
        loss, gradient = loss_and_gradient(model, weights, images, labels)
        losses.append(loss)
        for name, g in gradient.items():
            weights[name], accumulators[name] = optimizer.update(
                step, weights[name], accumulators[name], g * masks[name]
            )
    return weights, torch.stack(losses)


def batches_in_order(
    images: Tensor, labels: Tensor, batch_size: int, steps: int
) -> Iterable[tuple[Tensor, Tensor]]:
    """Batches in the order of the file, starting over at its end, within a batch if need be."""
    for step in range(steps):
        rows = torch.arange(step * batch_size, (step + 1) * batch_size) % len(labels)
        yield images[rows], labels[rows]
