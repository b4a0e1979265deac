"""300 malformed tables and options: each ends in one line and exit code 2, and writes nothing.

A case is a good command line into which at least one fault was put: into the table, the options,
the model file or the names of outputs. Harmless options are mixed in, so that faults are met in
many combinations. Nothing here may get as far as compiling, which is what makes 300 cheap.
"""

import gzip
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

NUM_CASES = 300
ROWS = 60

BINARY = 'kind = "binary"\nfalse_positive = 1\nfalse_negative = 9\npositive = "yes"\n'


@dataclass
class Case:
    """A command line in the making, in a folder of its own."""

    folder: Path
    rng: np.random.Generator
    models: dict[str, Path]
    command: str = "fit"
    columns: dict = field(default_factory=dict)
    options: dict = field(default_factory=dict)
    raw: bytes | None = None
    name: str = "data.csv"
    model: Path | None = None
    data: Path | None = None

    def pick(self, *choices):
        return choices[int(self.rng.integers(len(choices)))]

    def arguments(self) -> list[str]:
        data = self.data or self.folder / self.name
        if self.data is None:
            data.write_bytes(csv(self.columns) if self.raw is None else self.raw)
        model = [] if self.model is None else [str(self.model)]
        options = [str(part) for pair in self.options.items() for part in pair if part is not None]
        return [self.command, *model, str(data), *options]


def csv(columns: dict) -> bytes:
    names = ",".join(f'"{name}"' for name in columns)
    lines = [",".join(str(v) for v in row) for row in zip(*columns.values(), strict=True)]
    return "\n".join([names, *lines, ""]).encode()


def good(folder: Path, rng: np.random.Generator, models: dict[str, Path]) -> Case:
    """A case without a fault, of any command, with harmless options."""
    case = Case(
        folder,
        rng,
        models,
        command=str(rng.choice(["fit", "fit", "compare", "predict", "evaluate", "decide"])),
    )
    size = rng.uniform(30, 200, ROWS).round(1)
    case.columns = {
        "size": size,
        "kind": rng.choice(["flat", "house"], ROWS),
        "rooms": rng.poisson(4, ROWS),
        "sold": rng.choice(["yes", "no"], ROWS),
        "price": (1000 * size + rng.standard_normal(ROWS)).round(2),
    }
    case.options = {case.pick("--quiet", "--json"): None}
    if case.command in ("fit", "compare"):
        case.options["--target"] = "price"
        for option, values in HARMLESS.items():
            if rng.random() < 0.3:
                case.options[option] = case.pick(*values)
        if case.command == "fit":
            case.options["--output"] = folder / "m.dgp"
    else:
        case.model = models["regression"]
        if case.command != "evaluate":
            case.options["--output"] = folder / "p.csv"
        if case.command == "decide":
            case.model, text = case.pick(
                (models["regression"], 'kind = "newsvendor"\nunder = 4\nover = 1\n'),
                (models["classes"], BINARY),
            )
            cost(case, text)
    if rng.random() < 0.3 and case.command != "predict":
        case.options["--report"] = folder / "r.html"
    return case


def cost(case: Case, text: str) -> None:
    """State the cost of a decision."""
    case.options["--cost"] = case.folder / "cost.toml"
    case.options["--cost"].write_text(text)


HARMLESS = {
    "--kernel": ("rbf", "matern32", "linear"),
    "--max-steps": (1, 10),
    "--seed": (0, 7),
    "--holdout": (0.1, 0.5),
    "--missing": ("error",),
    "--num-inducing": (5, 20),
    "--task": ("auto", "regression"),
}

FAULTS: list[tuple[tuple[str, ...], Callable[[Case], None]]] = []
OPTION_FAULTS: list[tuple[tuple[str, ...], Callable[[Case], None]]] = []
LEARN, USE = ("fit", "compare"), ("predict", "evaluate", "decide")
ALL = (*LEARN, *USE)


def fault(*commands: str):
    def add(inject):
        FAULTS.append((commands, inject))
        return inject

    return add


# ---------------------------------------------------------------- files that are no tables


@fault(*ALL)
def no_such_file(case: Case):
    case.data = case.folder / case.pick("nope.csv", "a/b.parquet", "data.CSV.gz")


@fault(*ALL)
def a_folder(case: Case):
    case.data = case.folder


@fault(*ALL)
def an_empty_file(case: Case):
    case.raw = case.pick(b"", b"\n\n\n", b"   \n", b"\xef\xbb\xbf")


@fault(*ALL)
def only_a_header(case: Case):
    case.raw = b"size,kind,rooms,sold,price\n"


@fault(*ALL)
def noise(case: Case):
    case.raw = case.rng.bytes(int(case.rng.integers(20, 3000)))
    case.name = case.pick("data.csv", "data.parquet", "data.csv.gz")


@fault(*ALL)
def cut_parquet(case: Case):
    path = case.folder / "whole.parquet"
    parquet.write_table(pa.table(case.columns), path)
    whole = path.read_bytes()
    path.unlink()
    case.raw, case.name = whole[: int(case.rng.integers(4, len(whole) - 8))], "data.parquet"


@fault(*ALL)
def cut_gzip(case: Case):
    whole = gzip.compress(csv(case.columns))
    case.raw, case.name = whole[: len(whole) // 2], "data.csv.gz"


@fault(*ALL)
def a_foreign_format(case: Case):
    case.name = case.pick("data.xlsx", "data.json", "data.pdf", "data.npz")


@fault(*ALL)
def not_utf8(case: Case):
    case.columns["kind"] = ["x"] * ROWS
    case.raw = csv(case.columns).replace(b"x", b"\xe9\xff\xfe", 7)


@fault(*ALL)
def nul_bytes(case: Case):
    case.raw = csv(case.columns).replace(b"\n", b"\n\x00", 3)


@fault(*ALL)
def ragged(case: Case):
    lines = csv(case.columns).split(b"\n")
    row = int(case.rng.integers(1, ROWS))
    lines[row] = case.pick(lines[row] + b",1,2", b",".join(lines[row].split(b",")[:2]))
    case.raw = b"\n".join(lines)


@fault(*ALL)
def two_columns_of_one_name(case: Case):
    case.raw = csv(case.columns).replace(b'"size"', b'"rooms"', 1)


@fault(*ALL)
def an_open_quote(case: Case):
    lines = csv(case.columns).split(b"\n")
    lines[10] = b'"' + lines[10]
    case.raw = b"\n".join(lines)


# ---------------------------------------------------------------- tables that cannot be used


@fault(*LEARN)
def missing_inputs(case: Case):
    values = case.columns["size"].astype(object)
    values[case.rng.integers(ROWS, size=4)] = case.pick("", "NA", "null")
    case.columns["size"] = values
    case.options["--missing"] = "error"


@fault(*LEARN)
def infinite_inputs(case: Case):
    values = case.columns["size"].astype(object)
    values[3] = case.pick("inf", "-inf", "1e999")
    case.columns["size"] = values


@fault(*LEARN)
def nothing_but_the_target(case: Case):
    case.columns = {"price": case.columns["price"]}


@fault(*LEARN)
def only_constant_inputs(case: Case):
    case.columns = {"a": [1] * ROWS, "b": ["x"] * ROWS, "price": case.columns["price"]}


@fault(*LEARN)
def a_target_that_is_always_missing(case: Case):
    case.columns["price"] = [""] * ROWS


@fault(*LEARN)
def a_target_of_words_as_numbers(case: Case):
    case.options |= {"--target": "kind", "--task": case.pick("regression", "counts")}


@fault(*LEARN)
def a_target_of_one_class(case: Case):
    case.columns["price"] = [case.pick("yes", 3)] * ROWS
    case.options["--task"] = "classes"


@fault(*LEARN)
def a_target_of_too_many_classes(case: Case):
    case.columns["price"] = [f"name {i}" for i in range(ROWS)]
    case.options["--task"] = "classes"


@fault(*LEARN)
def counts_that_are_none(case: Case):
    case.columns["price"] = case.pick(case.columns["price"] + 0.5, -np.arange(1, ROWS + 1))
    case.options["--task"] = "counts"


@fault(*LEARN)
def a_target_of_dates(case: Case):
    case.columns["price"] = [f"2024-01-{1 + i % 28:02d}" for i in range(ROWS)]
    case.options["--task"] = "auto"


@fault(*LEARN)
def a_single_row(case: Case):
    case.columns = {name: values[:1] for name, values in case.columns.items()}


@fault(*USE)
def columns_of_training_that_are_gone(case: Case):
    del case.columns[case.pick("size", "kind", "rooms")]


@fault(*USE)
def words_where_numbers_were(case: Case):
    case.columns["size"] = ["large"] * ROWS


@fault("evaluate")
def a_truth_that_is_gone(case: Case):
    del case.columns["price"]


@fault("evaluate")
def a_class_that_training_never_saw(case: Case):
    case.model = case.models["classes"]
    case.columns["sold"] = case.columns["sold"].astype(object)
    case.columns["sold"][5] = "perhaps"


# ---------------------------------------------------------------- options


def option(*commands: str, **wrong):
    for name, values in wrong.items():
        flag = "--" + name.replace("_", "-")

        def inject(case: Case, flag=flag, values=values):
            case.options[flag] = case.pick(*values)

        FAULTS.append((commands, inject))
        OPTION_FAULTS.append((commands, inject))


option("fit", loss=("nope", "", "log", "DIRECT"), beta=("-1", "nan", "inf", "many", ""))
option(*LEARN, likelihood=("nope", "", "normal"), kernel=("nope", "", "rbf2"))
option(*LEARN, missing=("nope", "drop", ""), task=("nope", "classification", ""))
option(*LEARN, epochs=(0, -3, "x", 1.5), max_steps=(0, -1, "x"), num_inducing=(0, -5, "x"))
option(*LEARN, seed=(-1, "x", 2**40), holdout=(-0.1, 1, 5, "x"), time_budget=(0, -1, "nan", "x"))
option(*LEARN, category=("nope", "price", ""))
option(*LEARN, target=("Price", "nope", ""), drop=("nope", "price", ""))
option("compare", models=("elbo", "", "elbo,nope", "elbo,elbo", "deep deep"))
option("predict", quantiles=("0", "1", "x", "0.1,2", "-1", "nan"), keep=("nope", ""))
option("decide", keep=("nope", ""), cost=("nope.toml", ".", "data.csv", "0.5"))
option(*ALL, nonsense=(1, "x"))


@fault("fit", "compare", "evaluate", "decide")
def a_report_that_is_no_page(case: Case):
    case.options["--report"] = case.folder / case.pick("r.pdf", "r", "r.csv")


@fault(*LEARN)
def a_likelihood_for_another_task(case: Case):
    case.options |= {"--likelihood": "poisson", "--task": case.pick("regression", "classes")}


@fault("fit", "predict", "decide")
def an_output_that_cannot_be(case: Case):
    ending = "m.dgp" if case.command == "fit" else "p.csv"
    (case.folder / "taken").mkdir()
    case.options["--output"] = case.pick(
        case.folder / "no" / "such" / ending, case.folder / "taken"
    )


@fault("fit", "predict", "decide")
def an_output_that_is_the_input(case: Case):
    case.options["--output"] = case.folder / case.name


@fault("predict", "decide")
def an_output_of_unknown_format(case: Case):
    case.options["--output"] = case.folder / case.pick("p.xlsx", "p", "p.json")


@fault("fit")
def a_run_to_resume_that_is_not_there(case: Case):
    case.options["--resume"] = None


# ---------------------------------------------------------------- costs


@fault("decide")
def a_cost_that_is_none(case: Case):
    cost(case, case.pick("", "kind = 3", "kind = 'nope'", "under = 4", "= x", "[cost]\nunder = 1"))


@fault("decide")
def a_price_that_is_none(case: Case):
    wrong = case.pick("-1", "nan", "inf", "'dear'", "[1, 2]", "true", "{ column = 'nope' }")
    lines = case.options["--cost"].read_text().splitlines()
    cost(case, "\n".join([*lines[:-1], f"{lines[-1].split()[0]} = {wrong}"]))


@fault("decide")
def a_price_without_its_other_half(case: Case):
    cost(case, "\n".join(case.options["--cost"].read_text().splitlines()[:2]))


@fault("decide")
def prices_that_are_all_zero(case: Case):
    lines = case.options["--cost"].read_text().splitlines()
    cost(case, "\n".join([lines[0], *(f"{line.split()[0]} = 0" for line in lines[1:])]))


@fault("decide")
def a_cost_for_another_kind_of_target(case: Case):
    swap = {"newsvendor": "classes", "binary": "regression"}
    kind = case.options["--cost"].read_text().split('"')[1]
    case.model = case.models[swap[kind]]


@fault("decide")
def a_matrix_of_the_wrong_shape(case: Case):
    case.model = case.models["classes"]
    matrix = case.pick("[[0]]", "[[0, 1], [1]]", "[]", "[[0, 1, 2]]", "'x'", "[[0, nan], [1, 0]]")
    cost(case, f'kind = "matrix"\nmatrix = {matrix}\n')


@fault("decide")
def an_expression_that_is_none(case: Case):
    case.model = case.models["regression"]
    wrong = case.pick("__import__('os')", "abs(y - ", "y +", "", "z * 2", "y.real", "open('x')")
    cost(case, f'kind = "function"\nexpression = "{wrong}"\nlower = 0\nupper = 9\n')


@fault("decide")
def a_range_of_actions_that_is_none(case: Case):
    case.model = case.models["regression"]
    lower, upper = case.pick((9, 0), (1, 1), ("nan", 3), ("'a'", "'b'"))
    text = 'kind = "function"\nexpression = "abs(y - action)"\n'
    cost(case, f"{text}lower = {lower}\nupper = {upper}\n")


# ---------------------------------------------------------------- model files


@fault(*USE)
def a_model_that_is_not_there(case: Case):
    case.model = case.folder / "nope.dgp"


@fault(*USE)
def a_model_that_is_something_else(case: Case):
    case.model = case.folder / "foreign.dgp"
    case.model.write_bytes(case.pick(b"", b"hello", csv(case.columns), case.rng.bytes(500)))


@fault(*USE)
def a_damaged_model(case: Case):
    whole = bytearray(case.models["regression"].read_bytes())
    if case.rng.random() < 0.5:
        whole = whole[: int(case.rng.integers(1, len(whole)))]
    else:
        whole[int(case.rng.integers(len(whole)))] ^= 1 << int(case.rng.integers(8))
    case.model = case.folder / "damaged.dgp"
    case.model.write_bytes(whole)


# ---------------------------------------------------------------- the test


def malformed(folder: Path, number: int, models: dict[str, Path]) -> tuple[Case, list[str]]:
    """Case `number`: a good command with one fault or two; every kind of fault gets its turn."""
    rng = np.random.default_rng([20261115, number])
    commands, first = FAULTS[number % len(FAULTS)]
    case = good(folder, rng, models)
    while case.command not in commands:
        case = good(folder, rng, models)
    injected = [first]
    if rng.random() < 0.3:
        own = [inject for commands, inject in OPTION_FAULTS if case.command in commands]
        injected.append(own[int(rng.integers(len(own)))])
    for inject in injected:
        inject(case)
    return case, [inject.__name__ for inject in injected]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def judge(case: Case, arguments, code: int, out: str, err: str, before) -> str:
    """What is wrong with how a malformed case ended; nothing if all is well."""
    if code != 2:
        return f"exit code {code}"
    lines = err.splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    if len(errors) != 1 or not lines[-1].startswith("error: "):
        return "not one line of error at the end"
    if "Traceback" in err or "internal" in err:
        return "a traceback"
    if "--quiet" in arguments and len(lines) != 1:
        return "more than one line although quiet"
    if not 15 < len(errors[0]) < 600:
        return "a line too short or too long to help"
    if out:
        return "something on stdout"
    return "" if contents(case.folder) == before else "a file was written or changed"


def test_good_cases_are_good(command, shop, tmp_path):
    """Without a fault the same command lines succeed: the faults are what is refused."""
    done = dict.fromkeys(USE, 0)
    for number in range(40):
        folder = tmp_path / str(number)
        folder.mkdir()
        case = good(folder, np.random.default_rng(number), shop.models)
        if case.command in done and done[case.command] < 2:
            ended = command(*case.arguments())
            assert ended.code == 0, ended.err
            done[case.command] += 1
    assert set(done.values()) == {2}


def test_malformed_input_is_refused_in_one_line(command, shop, tmp_path, monkeypatch):
    wrong = []
    for number in range(NUM_CASES):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        case, faults = malformed(folder, number, shop.models)
        arguments = case.arguments()
        before = contents(folder)
        ended = command(*arguments)
        said = judge(case, arguments, *ended, before)
        if said:
            wrong.append(f"{number} {faults}: {said}: {' '.join(arguments)}\n  {ended.err[-500:]}")
    assert not wrong, "\n".join([f"{len(wrong)} of {NUM_CASES}", *wrong[:20]])


def test_every_kind_of_fault_is_among_the_cases():
    assert len(FAULTS) <= NUM_CASES


@pytest.mark.parametrize("number", [0, 45])
def test_malformed_input_of_a_real_process(shop, tmp_path, number, environment):
    case, _ = malformed(tmp_path, number, shop.models)
    arguments = case.arguments()
    before = contents(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "directgp", *arguments],
        capture_output=True, text=True, timeout=120, cwd=tmp_path, env=environment,
    )  # fmt: skip
    assert not judge(case, arguments, done.returncode, done.stdout, done.stderr, before)
