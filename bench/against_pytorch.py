"""Times Parsity and PyTorch in turns; prints what must hold as a Markdown table.

A machine's speed swings while one looks at it, so absolute numbers prove nothing: each
case is timed by one side and then by the other, several times over, and what is told is the
median of the ratios of these pairs. Start it by `bench/against-pytorch`.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
# Without it, PyTorch gives its memory back and asks for it again at every step.
ALLOCATOR = (
    "glibc.malloc.mmap_threshold=8589934592:"
    "glibc.malloc.trim_threshold=17179869184:"
    "glibc.malloc.top_pad=268435456"
)
# What holds PyTorch, and the libraries that it calls, to AVX2.
AVX2 = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
}
THREADS = 2  # In comparisons with PyTorch.
SIZES = {"simple-cnn": 62_346, "resnet-8": 75_050}  # Parameters.
EVALUATED = 1000  # Images at once in PyTorch's evaluation, which is where it is fastest.


@dataclass(frozen=True)
class Bound:
    """What must hold, and what is aimed at: at least, or at most."""

    must: float
    aim: float
    at_most: bool = False
    percent: bool = False

    def verdict(self, measured: float) -> str:
        sign = -1 if self.at_most else 1
        if sign * measured >= sign * self.aim:
            return "aim reached"
        return "holds" if sign * measured >= sign * self.must else "**missed**"

    def text(self, number: float) -> str:
        return f"{100 * number:.3g} %" if self.percent else f"{number:.3g}×"


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    bound: Bound
    measured: float
    detail: str

    def markdown(self) -> str:
        text, sign = self.bound.text, "≤" if self.bound.at_most else "≥"
        bounds = f"{sign} {text(self.bound.must)} | {sign} {text(self.bound.aim)}"
        verdict = self.bound.verdict(self.measured)
        return f"| {self.what} | {bounds} | {text(self.measured)} | {verdict} | {self.detail} |"


def name(sparsity: float) -> str:
    return f"{100 * sparsity:.0f} % sparse" if sparsity > 0 else "dense"


# kind, model, batch size, sparsity, and by what factor Parsity is to be faster.
COMPARISONS = [
    ("train", "simple-cnn", 2, 0.0, Bound(2, 4)),
    ("train", "simple-cnn", 8, 0.0, Bound(2, 3)),
    ("train", "simple-cnn", 128, 0.0, Bound(1.6, 2.5)),
    ("train", "simple-cnn", 2048, 0.0, Bound(1.6, 2.5)),
    ("train", "resnet-8", 2, 0.0, Bound(2, 2)),
    ("train", "resnet-8", 8, 0.0, Bound(1.3, 2)),
    ("train", "resnet-8", 128, 0.0, Bound(1.3, 2)),
    ("train", "resnet-8", 2048, 0.0, Bound(1.3, 2)),
    ("train", "simple-cnn", 512, 0.9, Bound(9, 14)),
    ("train", "resnet-8", 512, 0.9, Bound(5, 9)),
    ("evaluate", "simple-cnn", EVALUATED, 0.0, Bound(1.3, 1.9)),
    ("evaluate", "simple-cnn", EVALUATED, 0.9, Bound(8, 12)),
]

DENSE, ALONE, AT_8 = {"sparsity": 0.0}, {"threads": 1}, {"batch_size": 8}
# The dense network, trained as sparse ones are: every product at every position. The other
# way passes over what max-pools have ruled out, and takes fewer products for whole 3×3 kernels;
# it is gone where little was pruned.
EVERYWHERE = {"sparsity": 0.0, "kind": "train-everywhere"}
# Where sparse networks are compared with the dense one, and whether they must reach the factor there.
# Two threads at a batch of a single block share it channel by channel, and what they tell each
# other does not shrink with the survivors: there a sparse network must not be slower than the
# dense one, and the factor is only aimed at.
PARTS = [
    ("B ≥ 128", True, lambda b, t: b >= 128),
    ("B ≤ 8, 1 thread", True, lambda b, t: b <= 8 and t == 1),
    ("B ≤ 8, 2 threads", False, lambda b, t: b <= 8 and t == 2),
]
# What must hold within Parsity: for which batch sizes, sparsities and threads, and against
# which other case; a bound from above is one of time, the others are of speed.
WITHIN = [
    ("90 % sparse against dense everywhere, B ≥ 128", Bound(5, 6.5),
     lambda b, s, t: b >= 128 and s == 0.9, EVERYWHERE),
    *(
        (f"{name(sparsity)} against dense everywhere, {where}",
         bound if must else Bound(1, bound.must),
         lambda b, s, t, sparsity=sparsity, of=of: s == sparsity and of(b, t), EVERYWHERE)
        for sparsity, bound in ((0.7, Bound(2.2, 2.6)), (0.5, Bound(1.5, 1.65)))
        for where, must, of in PARTS
    ),
    # Never slower; a clock cannot tell the last 5 %.
    ("any sparsity against dense", Bound(0.95, 1), lambda b, s, t: s > 0, DENSE),
    ("2 threads against one, B ≥ 64", Bound(1.8, 1.95), lambda b, s, t: t == 2 and b >= 64, ALONE),
    ("time per image at B = 2 and 4 against B = 8", Bound(2.2, 1.5, at_most=True),
     lambda b, s, t: b < 8, AT_8),
]
SPARSITIES = "0,0.1,0.3,0.5,0.7,0.9"
BATCH_SIZES, QUICK_BATCH_SIZES = "2,4,8,128,512", "2,8,128"


class PyTorch:
    """The other side's process."""

    def __init__(self, avx2: bool) -> None:
        command = [sys.executable, str(HERE / "pytorch_side.py")]
        environment = os.environ | {"GLIBC_TUNABLES": ALLOCATOR} | (AVX2 if avx2 else {})
        pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process = subprocess.Popen(command, env=environment, **pipes)
        self.version = self.read()["version"]

    def read(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            sys.exit("error: PyTorch's side has ended; its message stands above")
        return json.loads(line)

    def speed(self, case: dict) -> float:
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        return self.read()["images_per_second"]


class Parsity:
    """The binary."""

    def __init__(self, binary: str, avx2: bool) -> None:
        self.binary = binary
        self.limit = ["--instruction-set", "avx2"] if avx2 else []
        version = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True)
        self.version = version.stdout.split()[-1]

    def bench(self, *arguments: str) -> dict:
        command = [self.binary, "bench", "--json", *self.limit, *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{done.stderr}error: `{' '.join(command)}` has failed")
        return json.loads(done.stdout)

    def speed(self, case: dict) -> float:
        options = ("kind", "--kinds"), ("model", "--model"), ("batch_size", "--batch-sizes")
        options += ("sparsity", "--sparsities"), ("threads", "--threads")
        arguments = [word for key, option in options for word in (option, str(case[key]))]
        return self.bench(*arguments, "--rounds", "1")["rows"][0]["images_per_second"]


def compare(parsity: Parsity, pytorch: PyTorch, quick: bool) -> list[Row]:
    """Both sides, in turns."""
    rows = []
    for kind, model, batch_size, sparsity, bound in COMPARISONS:
        if quick and batch_size == 2048:
            continue
        case = dict(kind=kind, model=model, batch_size=batch_size, sparsity=sparsity)
        case["threads"] = THREADS
        what = f"{model}, {kind}, {name(sparsity)}"
        what += f", B = {batch_size}" if kind == "train" else ""
        tell(f"{what}, against PyTorch")
        turns = range(3 if quick else 7)
        pairs = [(pytorch.speed(case), parsity.speed(case)) for _ in turns]
        theirs, ours = (statistics.median(side) for side in zip(*pairs))
        ratio = statistics.median(ours / theirs for theirs, ours in pairs)
        detail = f"{ours:,.0f} against {theirs:,.0f} images/s"
        masked = " masked" if sparsity > 0 else ""
        title = f"{what}, {THREADS} threads, against PyTorch{masked}"
        rows.append(Row(title, bound, ratio, detail))
    return rows


def judge(rows: list[dict]) -> list[Row]:
    """What must hold within Parsity; the worst of all cases that a line speaks of counts."""
    train = [row for row in rows if row["kind"] == "train"]
    turns = {key(row): row["turns"] for row in rows if "turns" in row}
    judged = []

    def ratio(row: dict, other: dict) -> float:
        pairs = zip(turns[key(row)], turns[key(row | other)])
        return statistics.median(its / others for its, others in pairs)

    def judge_worst(what: str, bound: Bound, cases: list[tuple[float, dict]]) -> None:
        worst = max if bound.at_most else min
        measured, row = worst(cases, key=lambda case: case[0])
        where = f"{name(row['sparsity'])}, B = {row['batch_size']}, threads: {row['threads']}"
        judged.append(Row(what, bound, measured, f"worst of {len(cases)}: {where}"))

    shares = [row for row in train if row["model"] == "simple-cnn" and row["sparsity"] == 0]
    shares = [row for row in shares if row["batch_size"] >= 8 and row["threads"] == 1]
    what = "simple-cnn, train: dense, B ≥ 8, 1 thread, share of FMA peak"
    bound = Bound(0.60, 0.77, percent=True)
    judge_worst(what, bound, [(row["share_of_peak"], row) for row in shares])
    for model, size in SIZES.items():
        own = [row for row in train if row["model"] == model]
        for what, bound, is_meant, other in WITHIN:
            cases = [row for row in own if is_meant(*key(row)[2:])]
            ratios = [ratio(row, other) for row in cases]
            ratios = [1 / ratio for ratio in ratios] if bound.at_most else ratios
            judge_worst(f"{model}, train: {what}", bound, list(zip(ratios, cases)))
        memory = (row for row in rows if row["kind"] == "memory" and row["model"] == model)
        bytes_needed = {row["sparsity"]: row["bytes"] for row in memory}[0.9]
        # A dense framework holds weights, gradient and momentum, and no pattern.
        share, bound = bytes_needed / (12 * size), Bound(0.15, 0.12, at_most=True, percent=True)
        detail = f"{bytes_needed:,} against {12 * size:,} bytes"
        judged.append(Row(f"{model}: memory of a 90 % sparse trial", bound, share, detail))
    return judged


def key(row: dict) -> tuple:
    return tuple(row[part] for part in ("kind", "model", "batch_size", "sparsity", "threads"))


def tell(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if sys.platform == "linux" else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parsity", required=True, help="the binary, from a release build")
    parser.add_argument("--quick", action="store_true", help="fewer batch sizes, fewer turns")
    parser.add_argument("--avx2", action="store_true", help="hold both sides to AVX2")
    arguments = parser.parse_args()
    parsity, pytorch = Parsity(arguments.parsity, arguments.avx2), PyTorch(arguments.avx2)
    rows = compare(parsity, pytorch, arguments.quick)
    pytorch.process.stdin.close()
    tell("Parsity alone")
    sizes, rounds = (QUICK_BATCH_SIZES, "3") if arguments.quick else (BATCH_SIZES, "15")
    options = ["--kinds", "train,train-everywhere,memory", "--threads", "1,2", "--rounds", rounds]
    own = parsity.bench(*options, "--batch-sizes", sizes, "--sparsities", SPARSITIES)
    machine = own["machine"]
    print(f"{processor()}, {machine['threads']} cores, {platform.system()}.", end=" ")
    print(f"FMA peak of a core: {own['peak_gflops']:.0f} GFLOP/s", end=" ")
    held = ", and so is PyTorch" if arguments.avx2 else ""
    print(f"({machine['instruction_set']}{held}).", end=" ")
    print(f"Parsity {parsity.version}, PyTorch {pytorch.version}.\n")
    print("| what | must | aim | measured | verdict | detail |\n|---|---|---|---|---|---|")
    rows += judge(own["rows"])
    print("\n".join(row.markdown() for row in rows))
    return int(any("missed" in row.bound.verdict(row.measured) for row in rows))


if __name__ == "__main__":
    sys.exit(main())
