"""Checks of the reference itself: `python -m unittest discover tools`."""

import contextlib
import gzip
import io
import math
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F

import golden
import reference
import repeat_run
from reference import MODELS, RESNET_8, SIMPLE_CNN, Optimizer

TOOLS = Path(__file__).parent


def float64_parameters(model: reference.Model, seed: int = 0) -> reference.Parameters:
    values = reference.initial_parameters(model, seed, 0.05)
    return {name: torch.from_numpy(value).double() for name, value in values.items()}


def float64_examples(model: reference.Model, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    images, labels = golden.made_up_images(model.image, 0)
    return reference.normalise(images, torch.float64)[:count], torch.from_numpy(labels).long()[:count]


class Networks(unittest.TestCase):
    def test_models_have_the_published_numbers_of_parameters(self):
        self.assertEqual([model.size for model in MODELS.values()], [62_346, 75_050])
        for model in MODELS.values():
            self.assertEqual(sum(math.prod(s) for s in model.shapes().values()), model.size)

    def test_parameters_come_in_the_order_of_the_layers(self):
        self.assertEqual(
            list(SIMPLE_CNN.shapes()),
            ["conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias", "dense.weight", "dense.bias"],
        )
        names = list(RESNET_8.shapes())
        self.assertEqual(names[:4], ["conv.weight", "conv.bias", "block1.conv1.weight", "block1.conv1.bias"])
        self.assertEqual(names[-3:], ["block3.conv2.bias", "dense.weight", "dense.bias"])

    def test_same_padding_at_stride_two_pads_after_an_even_side_only(self):
        x = torch.ones(1, 1, 4, 4)
        self.assertTrue(torch.equal(reference.pad_same(x, 3, 2), F.pad(x, (0, 1, 0, 1))))
        self.assertTrue(torch.equal(reference.pad_same(x, 3, 1), F.pad(x, (1, 1, 1, 1))))
        odd = torch.ones(1, 1, 5, 5)
        self.assertTrue(torch.equal(reference.pad_same(odd, 3, 2), F.pad(odd, (1, 1, 1, 1))))

    def test_without_convolutions_resnet_8_passes_on_only_its_shortcuts(self):
        p = float64_parameters(RESNET_8)
        for name in p:
            if name.startswith("block"):
                p[name] = torch.zeros_like(p[name])
        x, _ = float64_examples(RESNET_8, 4)
        stem = F.conv2d(x, p["conv.weight"], p["conv.bias"], padding=1)
        features = F.relu(stem).mean(dim=(2, 3))
        expected = features @ p["dense.weight"][:, :16].T + p["dense.bias"]
        self.assertTrue(torch.allclose(RESNET_8.logits(p, x), expected, rtol=1e-12))

    def test_initial_weights_have_variance_one_over_fan_in_and_are_cut(self):
        weight = reference.initial_parameters(SIMPLE_CNN, 0, 0.05)["conv2.weight"]
        deviation = math.sqrt(1 / 800)
        self.assertAlmostEqual(weight.std() / deviation, 1, delta=0.01)
        self.assertLessEqual(np.abs(weight).max(), 2 * deviation / reference.TRUNCATED_DEVIATION)

    def test_normalised_channels_have_mean_zero_and_deviation_one(self):
        images, _ = golden.made_up_images(RESNET_8.image, 0)
        x = reference.normalise(images, torch.float64)
        self.assertLess(x.mean(dim=(0, 2, 3)).abs().max().item(), 1e-12)
        self.assertLess((x.std(dim=(0, 2, 3), correction=0) - 1).abs().max().item(), 1e-12)


class Gradients(unittest.TestCase):
    def test_the_gradient_is_the_slope_of_the_loss(self):
        for model in MODELS.values():
            p, (x, y) = float64_parameters(model), float64_examples(model, 4)
            _, gradient = reference.loss_and_gradient(model, p, x, y)
            random = torch.Generator().manual_seed(0)
            d = {n: torch.randn(v.shape, generator=random, dtype=v.dtype) for n, v in p.items()}
            h = 1e-7
            ahead, behind = (
                F.cross_entropy(model.logits({n: p[n] + s * d[n] for n in p}, x), y) for s in (h, -h)
            )
            slope = sum((gradient[n] * d[n]).sum() for n in p).item()
            self.assertAlmostEqual((ahead - behind).item() / (2 * h) / slope, 1, delta=1e-4)


class Pruning(unittest.TestCase):
    def test_scores_are_the_gradient_of_multipliers_at_one(self):
        p, (x, y) = float64_parameters(SIMPLE_CNN), float64_examples(SIMPLE_CNN, 200)
        c = {name: torch.ones_like(value, requires_grad=True) for name, value in p.items()}
        loss = sum(
            F.cross_entropy(SIMPLE_CNN.logits({n: c[n] * p[n] for n in p}, x[part]), y[part])
            for part in (slice(0, 100), slice(100, 200))
        )
        expected = torch.autograd.grad(loss, list(c.values()))
        scores = reference.snip_scores(SIMPLE_CNN, p, x, y)
        for score, e in zip(scores.values(), expected):
            self.assertTrue(torch.allclose(score, e.abs(), rtol=1e-9, atol=1e-15))

    def test_survivors_are_the_published_numbers(self):
        for model, numbers in ((SIMPLE_CNN, (31_173, 18_704, 6_235)), (RESNET_8, (37_525, 22_515, 7_505))):
            found = tuple(reference.survivors(model.size, s) for s in (0.5, 0.7, 0.9))
            self.assertEqual(found, numbers)

    def test_the_highest_survive_and_ties_go_to_the_lower_index(self):
        scores = {"a": torch.tensor([[1.0, 3.0], [0.0, 1.0]]), "b": torch.tensor([1.0, 2.0])}
        masks = reference.keep_highest(scores, 0.5)
        self.assertEqual(masks["a"].tolist(), [[1, 1], [0, 0]])
        self.assertEqual(masks["b"].tolist(), [0, 1])

    def test_pruned_parameters_are_and_stay_zero(self):
        p, (x, y) = float64_parameters(SIMPLE_CNN), float64_examples(SIMPLE_CNN, 200)
        masks = reference.keep_highest(reference.snip_scores(SIMPLE_CNN, p, x, y), 0.9)
        optimizer = Optimizer("nesterov", 0.01, 0.9)
        trained, _ = reference.train(
            SIMPLE_CNN, p, optimizer, reference.batches_in_order(x, y, 16, 3), masks
        )
        for name in p:
            self.assertEqual(trained[name][masks[name] == 0].abs().sum().item(), 0)
            self.assertGreater(trained[name][masks[name] == 1].abs().sum().item(), 0)


class Training(unittest.TestCase):
    def test_optimizers_are_those_of_pytorch(self):
        x, y = float64_examples(SIMPLE_CNN, 200)
        for rule, momentum in (("sgd", 0.0), ("momentum", 0.9), ("nesterov", 0.9)):
            p = float64_parameters(SIMPLE_CNN)
            leaves = {name: value.clone().requires_grad_() for name, value in p.items()}
            torch_optimizer = torch.optim.SGD(
                leaves.values(), lr=0.01, momentum=momentum, nesterov=rule == "nesterov"
            )
            for images, labels in reference.batches_in_order(x, y, 16, 5):
                torch_optimizer.zero_grad()
                F.cross_entropy(SIMPLE_CNN.logits(leaves, images), labels).backward()
                torch_optimizer.step()
            batches = reference.batches_in_order(x, y, 16, 5)
            trained, _ = reference.train(SIMPLE_CNN, p, Optimizer(rule, 0.01, momentum), batches)
            for name in p:
                self.assertTrue(torch.allclose(trained[name], leaves[name], rtol=1e-9, atol=1e-12), rule)

    def test_linear_decay_ends_at_the_factor_and_stays_there(self):
        optimizer = Optimizer("sgd", 2.0, decay_steps=8, end_factor=0.1)
        rates = [optimizer.rate(step) for step in (0, 4, 8, 9)]
        for rate, expected in zip(rates, (2.0, 1.1, 0.2, 0.2)):
            self.assertAlmostEqual(rate, expected)

    def test_batches_start_over_at_the_end_of_the_file(self):
        rows = torch.arange(5)
        batches = [labels.tolist() for _, labels in reference.batches_in_order(rows, rows, 3, 3)]
        self.assertEqual(batches, [[0, 1, 2], [3, 4, 0], [1, 2, 3]])


class Golden(unittest.TestCase):
    def test_images_use_the_whole_range_of_bytes_and_all_classes(self):
        for model in MODELS.values():
            images, labels = golden.made_up_images(model.image, golden.SEEDS[model.name])
            self.assertEqual(len(np.unique(images)), 256)
            self.assertEqual(np.bincount(labels).tolist(), [20] * 10)

    def test_the_same_tensors_make_the_same_bytes(self):
        tensors = {"b": torch.arange(3.0), "a": torch.arange(5, dtype=torch.uint8)}
        metadata = {f"key{number}": str(number) for number in range(20)}
        files = {golden.to_bytes(tensors, metadata) for _ in range(5)}
        self.assertEqual(len(files), 1)


# Stands in for the binary: the same run in float64, by the reference.
STAND_IN = """\
#!{python}
import sys
sys.path.insert(0, {tools!r})
import torch
from safetensors.torch import load_file, save_file
import reference, repeat_run
from pathlib import Path
assert sys.argv[1] == "train"
o = dict(zip(sys.argv[2::2], sys.argv[3::2]))
assert o["--order"] == "sequential" and o["--validation"] == "none"
model = reference.MODELS[o["--model"]]
images, labels = repeat_run.read_training_set(o["--dataset"], Path(o["--from"]))
x, y = reference.normalise(images, torch.float64), torch.from_numpy(labels).long()
p = {{name: value.double() for name, value in load_file(o["--init"]).items()}}
p = {{name: p[name] for name in model.shapes()}}
masks = reference.keep_highest(reference.snip_scores(model, p, x, y), float(o["--sparsity"]))
rule = reference.Optimizer(o["--optimizer"], {factor} * float(o["--learning-rate"]), float(o.get("--momentum", 0)))
batches = reference.batches_in_order(x, y, int(o["--batch-size"]), int(o["--steps"]))
trained, _ = reference.train(model, p, rule, batches, masks)
out = {{name: value.float() for name, value in trained.items()}}
if float(o["--sparsity"]) > 0:
    out |= {{name + ".mask": value for name, value in masks.items()}}
save_file(out, o["--save"])
"""


class RepeatedRuns(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write_mnist(self):
        images, labels = golden.made_up_images(SIMPLE_CNN.image, 3)
        header = b"\0\0\x08\x03" + np.array([200, 28, 28], ">u4").tobytes()
        (self.folder / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(header + images.tobytes()))
        header = b"\0\0\x08\x01" + np.array([200], ">u4").tobytes()
        (self.folder / "train-labels-idx1-ubyte").write_bytes(header + labels.tobytes())
        return images, labels

    def write_cifar10(self):
        images, labels = golden.made_up_images(RESNET_8.image, 3)
        rows = np.concatenate([labels[:, None], images.reshape(200, -1)], axis=1)
        for number, part in enumerate(np.split(rows, 5), start=1):
            part.tofile(self.folder / f"data_batch_{number}.bin")
        return images, labels

    def repeat(self, dataset, model, optimizer, sparsity, factor=1.0):
        binary = self.folder / "stand-in"
        binary.write_text(STAND_IN.format(python=sys.executable, tools=str(TOOLS), factor=factor))
        binary.chmod(0o755)
        command = [sys.executable, TOOLS / "repeat_run.py", "--parsity", binary]
        command += ["--dataset", dataset, "--data-folder", self.folder, "--model", model]
        command += ["--optimizer", optimizer, "--learning-rate", "0.01", "--batch-size", "16"]
        command += ["--steps", "3", "--sparsity", sparsity, "--", "--from", self.folder]
        return subprocess.run([str(part) for part in command], capture_output=True, text=True)

    def test_both_formats_are_read_in_file_order(self):
        for dataset, written in (("mnist", self.write_mnist()), ("cifar10", self.write_cifar10())):
            for expected, found in zip(written, repeat_run.read_training_set(dataset, self.folder)):
                self.assertTrue(np.array_equal(expected, found))

    def test_the_same_run_agrees(self):
        self.write_mnist()
        for optimizer, sparsity in (("sgd", 0), ("nesterov", 0.9)):
            result = self.repeat("mnist", "simple-cnn", optimizer, sparsity)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_another_learning_rate_is_noticed(self):
        self.write_cifar10()
        result = self.repeat("cifar10", "resnet-8", "momentum", 0, factor=1.01)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("TOO LARGE", result.stdout)

    def test_masks_that_differ_in_a_thousandth_are_refused(self):
        ours = {"w": torch.ones(10_000)}
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertTrue(repeat_run.agree(ours, ours, ours, 10))
            self.assertFalse(repeat_run.agree(ours, ours, ours, 11))

    def test_a_number_that_is_not_finite_never_agrees(self):
        b = torch.ones(3)
        self.assertEqual(repeat_run.relative_difference(b * torch.nan, b), float("inf"))


if __name__ == "__main__":
    unittest.main()
