"""Checks what needs no clock: verdicts, and which rows a line of the table speaks of."""

import sys
import unittest
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from against_pytorch import SIZES, Bound, Row, judge  # noqa: E402


def made_up_rows(speed) -> list[dict]:
    """A benchmark's rows, as fast as `speed(batch_size, sparsity, threads)` says, on a machine that
    is now fast, now slow."""
    rows = []
    for model, size in SIZES.items():
        for batch_size in (2, 4, 8, 128, 512):
            for sparsity in (0.0, 0.1, 0.3, 0.5, 0.7, 0.9):
                for threads in (1, 2):
                    case = dict(batch_size=batch_size, sparsity=sparsity, threads=threads)
                    row = dict(kind="train", model=model, share_of_peak=0.7, **case)
                    row["turns"] = [swing * speed(**case) for swing in (1, 0.6, 1.1)]
                    rows.append(row)
                    if sparsity == 0:
                        rows.append(row | dict(kind="train-everywhere"))
        rows.append(dict(kind="memory", model=model, sparsity=0.9, bytes=int(1.6 * size)))
    return rows


class Verdicts(unittest.TestCase):
    def test_more_is_better_unless_the_bound_is_an_upper_one(self):
        least, most = Bound(2, 4), Bound(0.15, 0.12, at_most=True)
        verdicts = ["**missed**", "holds", "holds", "aim reached"]
        self.assertEqual([least.verdict(it) for it in (1.9, 2, 3.9, 4)], verdicts)
        self.assertEqual([most.verdict(it) for it in (0.16, 0.15, 0.13, 0.12)], verdicts)

    def test_a_row_is_a_line_of_markdown(self):
        bound = Bound(0.15, 0.12, at_most=True, percent=True)
        line = Row("memory", bound, 0.133, "13 of 100 bytes").markdown()
        self.assertEqual(line, "| memory | ≤ 15 % | ≤ 12 % | 13.3 % | holds | 13 of 100 bytes |")

    def test_a_steady_machine_passes_everything(self):
        rows = made_up_rows(lambda batch_size, sparsity, threads: threads * 100 / (1.0 - sparsity))
        self.assertFalse([row for row in judge(rows) if "missed" in row.markdown()])

    def test_the_worst_case_counts_and_only_where_a_line_speaks_of_it(self):
        def speed(batch_size, sparsity, threads):
            slow = 0.5 if (batch_size, sparsity, threads) == (512, 0.9, 2) else 1
            return slow * threads * 100 / (1.0 - sparsity)

        missed = [row for row in judge(made_up_rows(speed)) if "missed" in row.markdown()]
        whats = [row.what.split(": ", 1)[1] for row in missed if row.what.startswith("resnet-8")]
        self.assertEqual(whats, ["2 threads against one, B ≥ 64"])
        self.assertIn("90 % sparse, B = 512, threads: 2", missed[0].detail)

    def test_the_factor_must_be_reached_by_all_but_two_threads_at_one_block(self):
        def judged(where):
            def speed(batch_size, sparsity, threads):
                factor = 1.4 if where(batch_size, threads) else 1 / (1.0 - sparsity)
                return threads * 100 * (factor if sparsity > 0 else 1)

            lines = [row for row in judge(made_up_rows(speed)) if "70 % sparse against" in row.what]
            return [row.bound.verdict(row.measured) for row in lines[:3]]

        self.assertEqual(judged(lambda b, t: b <= 8 and t == 2)[2], "holds")
        self.assertEqual(judged(lambda b, t: b <= 8 and t == 1)[1], "**missed**")
        self.assertEqual(judged(lambda b, t: b == 512 and t == 2)[0], "**missed**")


if __name__ == "__main__":
    unittest.main()
