"""PyTorch's side of the comparison: a process that is asked case by case.

Each line of standard input is a case as JSON; the answer is a line with its images per
second, timed for a moment. PyTorch is at its best here: channels-last, fused SGD, a
mask applied in place after the step. The caller sets the allocator.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

sys.path.append(str(Path(__file__).parent.parent / "tools"))
import reference  # noqa: E402

MOMENT = 0.08  # Seconds, about.


def resnet_8(p: reference.Parameters, x: Tensor) -> Tensor:
    """As the reference has it, but padded by the convolutions themselves.

    At stride 2 the border then lies on the other side: as much work and another result,
    but no copy of each image, which is faster.
    """

    def conv(layer: str, x: Tensor, stride: int = 1) -> Tensor:
        return F.conv2d(x, p[f"{layer}.weight"], p[f"{layer}.bias"], stride, padding=1)

    x = conv("conv", x)
    for block, stride in (("block1", 1), ("block2", 2), ("block3", 2)):
        shortcut = x
        x = F.relu(x)
        if stride == 2:
            pooled = F.avg_pool2d(x, 2)
            shortcut = torch.cat([pooled, torch.zeros_like(pooled)], dim=1)
        x = conv(f"{block}.conv2", F.relu(conv(f"{block}.conv1", x, stride))) + shortcut
    return F.linear(F.relu(x).mean(dim=(2, 3)), p["dense.weight"], p["dense.bias"])


LOGITS = {"simple-cnn": reference.simple_cnn, "resnet-8": resnet_8}


def channels_last(x: Tensor) -> Tensor:
    # Not `contiguous`: it leaves a single channel as it is, and then so do convolutions.
    return x.to(memory_format=torch.channels_last) if x.dim() == 4 else x


def make_work(case: dict) -> Callable[[], object]:
    """What is timed: one training step, or one evaluation of a batch."""
    model, logits = reference.MODELS[case["model"]], LOGITS[case["model"]]
    initial = reference.initial_parameters(model, seed=0, bias_deviation=0.0)
    parameters = {name: channels_last(torch.from_numpy(it)) for name, it in initial.items()}
    values = [it.requires_grad_() for it in parameters.values()]
    images = channels_last(torch.randn(case["batch_size"], *model.image))
    labels = torch.randint(0, reference.CLASSES, (case["batch_size"],))
    # Where the survivors are makes no difference to PyTorch, so they are drawn.
    scores = {name: torch.rand(it.shape) for name, it in initial.items()}
    kept = reference.keep_highest(scores, case["sparsity"])
    masks = [channels_last(it.float()) for it in kept.values()]
    with torch.no_grad():
        torch._foreach_mul_(values, masks)
    optimizer = torch.optim.SGD(values, lr=1e-5, momentum=0.9, fused=True)

    def train() -> None:
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(logits(parameters, images), labels).backward()
        optimizer.step()
        if case["sparsity"] > 0:
            with torch.no_grad():
                torch._foreach_mul_(values, masks)

    def evaluate() -> None:
        with torch.inference_mode():
            (logits(parameters, images).argmax(1) != labels).sum().item()

    return {"train": train, "evaluate": evaluate}[case["kind"]]


def timed(work: Callable[[], object], repetitions: int) -> float:
    begin = time.perf_counter()
    for _ in range(repetitions):
        work()
    return (time.perf_counter() - begin) / repetitions


def main() -> None:
    torch.manual_seed(0)
    print(json.dumps({"version": torch.__version__}), flush=True)
    known: dict[str, tuple[Callable[[], object], int]] = {}
    for line in sys.stdin:
        case = json.loads(line)
        torch.set_num_threads(case["threads"])
        if line not in known:
            work = make_work(case)
            timed(work, 2)
            known[line] = work, max(1, int(MOMENT / timed(work, 1)))
        work, repetitions = known[line]
        if repetitions > 1:
            work()  # The caches still belong to the other side.
        seconds = timed(work, repetitions)
        print(json.dumps({"images_per_second": case["batch_size"] / seconds}), flush=True)


if __name__ == "__main__":
    main()
