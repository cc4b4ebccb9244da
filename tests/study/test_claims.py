"""Published claims: the rules that decide, the intervals they rest on, and where the answers are shown."""

import json
from dataclasses import replace
from itertools import chain, combinations, product

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from typer.testing import CliRunner

from firstlight import demo
from firstlight.cli import app as main
from firstlight.cli.study import app
from firstlight.maths.intervals import exponent, over_classes, over_trials, rank_correlation
from firstlight.show.chapter import compose
from firstlight.show.claims import markdown
from firstlight.show.evidence import claimed, read, rows_of, save, stale, version
from firstlight.show.report import report
from firstlight.study import estimates
from firstlight.study.claims import Estimate, Statement, claims_of, judged, overall
from firstlight.study.toml import read_study

YES = Estimate("yes", 0.5, 0.4, 0.6)
NO = Estimate("no", -0.5, -0.6, -0.4)
OPEN = Estimate("open", 0.1, -0.1, 0.3)
WEAK = Estimate("weak", 0.2, 0.1, 0.29, strong=0.3)
UNKNOWN = Estimate("unknown", np.nan, np.nan, np.nan)


@pytest.mark.parametrize(
    ("estimate", "verdict"),
    [
        (YES, "holds"),
        (NO, "does not hold"),
        (OPEN, "undecided"),
        (WEAK, "holds in part"),
        (UNKNOWN, "undecided"),
        (Estimate("one trial", 0.5, np.nan, np.nan), "undecided"),
        (Estimate("touches", 0.5, 0.0, 1.0), "undecided"),
        (Estimate("reaches", 0.2, 0.1, 0.31, strong=0.3), "undecided"),  # weak, or not
        (Estimate("strong", 0.5, 0.31, 0.7, strong=0.3), "holds"),
        (Estimate("across both", 0.2, -0.1, 0.4, strong=0.3), "undecided"),
        (Estimate("two trials", 0.5, 0.4, 0.6, trials=2), "undecided"),
        (Estimate("three trials", 0.5, 0.4, 0.6, trials=3), "holds"),
        (Estimate("border", 0.5, 0.4, 0.6, border=1 / 3), "holds"),
        (Estimate("border", 0.3, 0.2, 0.32, border=1 / 3), "does not hold"),
        (Estimate("falls", -0.5, -0.6, -0.4, border=-0.25, side="below"), "holds"),
        (Estimate("falls slowly", -0.1, -0.2, -0.05, border=-0.25, side="below"), "does not hold"),
        (Estimate("weakly below", -0.2, -0.29, -0.1, side="below", strong=-0.3), "holds in part"),
    ],
)
def test_where_the_interval_lies_decides(estimate, verdict):
    assert estimate.verdict == verdict
    assert estimate.label in str(estimate)


@pytest.mark.parametrize(
    ("parts", "every", "verdict"),
    [
        ([YES, YES], False, "holds"),
        ([YES, NO], False, "holds in part"),
        ([YES, NO], True, "does not hold"),
        ([YES, OPEN], True, "undecided"),
        ([YES, OPEN], False, "undecided"),  # it holds, or in part
        ([YES, NO, OPEN], False, "holds in part"),  # whatever the open one comes to
        ([YES, WEAK], False, "holds in part"),
        ([WEAK, OPEN], False, "holds in part"),
        ([WEAK, OPEN], True, "undecided"),
        ([NO, NO], False, "does not hold"),
        ([NO, OPEN], False, "undecided"),  # it does not hold, or in part
        ([NO, OPEN], True, "does not hold"),
        ([OPEN, OPEN], False, "undecided"),
        ([YES, UNKNOWN], False, "undecided"),
        ([NO, UNKNOWN], False, "undecided"),
        ([NO, UNKNOWN], True, "does not hold"),
    ],
)
def test_parts_of_a_claim(parts, every, verdict):
    claim = judged(Statement("it rises", every=every), parts)
    assert claim.verdict == verdict
    assert "\n" not in claim.evidence
    assert all(str(part) in claim.evidence for part in parts)


@pytest.mark.parametrize("every", [False, True])
def test_a_verdict_never_changes_when_open_parts_are_closed(every):
    """All claims of one to three parts: what is said while parts are open stays true, however they close."""
    closed = ("holds", "holds in part", "does not hold")
    parts = [set(some) for count in (1, 2, 3) for some in combinations(closed, count)]
    for outcomes in chain.from_iterable(product(parts, repeat=count) for count in (1, 2, 3)):
        ends = {overall([{word} for word in words], every=every) for words in product(*outcomes)}
        assert overall(outcomes, every=every) == (ends.pop() if len(ends) == 1 else "undecided")


def test_an_open_part_that_is_weak_at_most_decides():
    """Beside a part that holds, one that fails or is weak leaves the same verdict: it holds in part."""
    strong, weak = Estimate("a", 0.9, 0.8, 1, strong=0.3), Estimate("b", 0.05, -0.03, 0.13, strong=0.3)
    assert (weak.verdict, judged("it rises", [strong, weak]).verdict) == ("undecided", "holds in part")
    perhaps = Estimate("b", 0.2, -0.03, 0.33, strong=0.3)
    assert judged("it rises", [strong, perhaps]).verdict == "undecided"


@pytest.mark.parametrize("share", [0.85, 0.95])
def test_few_trials_are_no_better_than_many(share):
    """A second border at 0.9: few trials may leave open on which side a share lies, never lead astray."""
    rng, repeats, wrong = np.random.default_rng(3), 400, "holds" if share < 0.9 else "holds in part"
    said = dict.fromkeys((3, 10, 40), 0)
    for trials in said:
        for _ in range(repeats):
            values = xr.DataArray(share + 0.05 * rng.normal(size=trials), dims="trial")
            said[trials] += estimates.mean("share", values, border=0.5, strong=0.9).verdict == wrong
    assert max(said.values()) / repeats < 0.025 + 3 * np.sqrt(0.025 * 0.975 / repeats)


@pytest.mark.parametrize("points", [1, 6, 30])
def test_the_largest_of_many_points_is_not_refuted_by_chance(points):
    """All means are 1, as large as they may be: refuted in at most 5 % of the cases, whatever the points."""
    rng, repeats = np.random.default_rng(4), 400
    said = [
        estimates.largest(
            "ratio", xr.DataArray(1 + 0.1 * rng.normal(size=(points, 4)), dims=("n", "trial")),
            border=1.0, side="below",
        ).verdict
        for _ in range(repeats)
    ]  # fmt: skip
    most = 0.05 + 3 * np.sqrt(0.05 * 0.95 / repeats)
    assert said.count("does not hold") / repeats < most
    assert said.count("holds") / repeats < most


def test_the_largest_counts_every_point():
    """One point below its border by far does not hide another, of smaller mean, that may lie above."""
    rng = np.random.default_rng(5)
    values = xr.DataArray(rng.normal(size=(2, 6)), dims=("n", "trial"))
    values = values - values.mean("trial")
    values = values * xr.DataArray([0.001, 1.0], dims="n") + xr.DataArray([0.9, 0.8], dims="n")
    assert estimates.largest("ratio", values, border=1.0, side="below").verdict == "undecided"
    assert estimates.largest("ratio", values[:1], border=1.0, side="below").verdict == "holds"
    few = values.where(values["trial"] < 2)
    assert estimates.largest("ratio", few, border=1.0, side="below").verdict == "undecided"


def test_no_spread_is_no_certainty():
    same = xr.DataArray([[0.5, 0.5, 0.5]], dims=("n", "trial"))
    assert estimates.mean("x", same).verdict == "undecided"
    assert estimates.largest("x", same, border=1.0, side="below").verdict == "undecided"
    assert np.isnan(estimates.largest("x", same * np.nan, border=1.0, side="below").value)
    for of in (1, 20, 148, 149, 150, 1000):
        part = estimates.share("dead", 0, of, trials=3, one_sided=True, border=0.02, side="below")
        assert part.high == pytest.approx(1 - 0.05 ** (1 / of))  # Clopper and Pearson's limit of none of `of`
        assert part.verdict == ("holds" if part.high < 0.02 else "undecided")
    assert np.isnan(estimates.share("dead", 0, 0, trials=0).value)


def test_trials_with_a_number_are_counted():
    values = xr.DataArray([[1.0, np.nan, 3.0, 4.0], [1.5, np.nan, 3.5, np.nan]], dims=("n", "trial"))
    assert estimates.mean("x", values).trials == 3
    assert estimates.largest("x", values).trials == 3  # the second point has only two, and is left out


def test_numbers_are_shown_to_the_digits_that_decide():
    assert str(Estimate("x", 0.8034, 0.7562, 0.8461)) == "x: 0.80 [0.76, 0.85]"
    assert str(Estimate("x", -0.0115, -0.0130, -0.0099)) == "x: -0.0115 [-0.0130, -0.0099]"
    assert str(Estimate("x", -0.030, -0.057, -0.0021)) == "x: -0.030 [-0.057, -0.002]"  # not 0.00
    assert str(Estimate("x", 0.24, -0.26, 0.64)) == "x: 0.24 [-0.26, 0.64], no effect seen"
    assert str(UNKNOWN) == "unknown: not known"
    assert str(Estimate("x", 1.0, 1.0, 1.0)) == "x: 1.00 [1.00, 1.00]"
    with pytest.raises(ValueError, match="no estimate"):
        judged("nothing", [])


def test_intervals():
    rng = np.random.default_rng(0)
    values = rng.normal(size=9)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    np.testing.assert_allclose(over_trials([*values, np.nan]), [values.mean(), *expected])
    assert np.isnan(over_trials([])).all()
    assert over_trials([2.0])[0] == 2.0
    assert np.isnan(over_trials([2.0])[1:]).all()
    for lowest, highest in ((-1, 1), (0, 1), (1, np.inf)):
        for count in (2, 3, 9):
            near = lowest + min(highest - lowest, 3) * rng.beta(0.5, 3, size=count)
            mean, low, high = over_trials(near, lowest, highest)
            assert lowest <= low <= mean <= high <= highest
            plain = over_trials(near)
            assert (low, high) == (max(plain[1], lowest), min(plain[2], highest))
    x, y = rng.normal(size=(2, 12))
    assert rank_correlation(x, y)[0] == pytest.approx(stats.spearmanr(x, y).statistic)
    value, low, high = rank_correlation(np.arange(8), np.arange(8) ** 3)
    assert value == high == pytest.approx(1)
    assert 0.8 < low < 1
    for few in (([1, 2, 3], [1, 2, 3]), (np.ones(9), np.arange(9))):
        assert np.isnan(rank_correlation(*few)).all()
    sizes = np.array([10, 20, 40, 80])
    power = exponent(sizes, np.exp(rng.normal(scale=0.1, size=(20, 4))) * sizes**-0.5)
    assert power[1] < -0.5 < power[2]
    assert np.isnan(exponent(sizes, np.full((3, 4), np.nan))).all()


def test_intervals_of_rank_correlations_cover():
    rng, trials, rho = np.random.default_rng(1), 400, 0.6
    truth = 6 / np.pi * np.arcsin(rho / 2)  # Spearman correlation of normals
    inside = 0
    for _ in range(trials):
        x, noise = rng.normal(size=(2, 20))
        _, low, high = rank_correlation(x, rho * x + np.sqrt(1 - rho**2) * noise)
        inside += low <= truth <= high
    assert inside / trials > 0.95 - 3 * np.sqrt(0.95 * 0.05 / trials)


FALL = Statement("times fall <with> the rate", "erlang1909", rule="below 0")
RISES = {"rate": Statement("times rise with the rate", rule="above 0")}


def falls(result):
    """Waiting times fall with the rate."""
    rank = rank_correlation(*xr.broadcast(result["rate"], result["mean"].sel(arm="experiment")))
    return [
        judged(FALL, [Estimate("Spearman", *rank, side="below")]),
        judged(RISES["rate"], [Estimate("Spearman", *rank)]),
    ]


def test_a_study_tells_its_claims():
    study = replace(demo.STUDY, claims=falls)
    result = demo.results()
    assert [claim.verdict for claim in claims_of(study, result)] == ["holds", "does not hold"]
    assert claims_of(demo.STUDY, result) == []
    upside_down = result.assign(mean=-result["mean"])
    assert [claim.verdict for claim in claims_of(study, upside_down)] == ["does not hold", "holds"]
    assert [row.claim for row in compose(study, result).rows] == claims_of(study, result)
    empty = result[["status"]].assign(status=xr.full_like(result["status"], "missing"))
    assert claims_of(study, empty) == []
    blank = result.assign(mean=result["mean"] * np.nan)
    assert {claim.verdict for claim in claims_of(study, blank)} == {"undecided"}
    with pytest.raises(
        ValueError, match="claims of demo/rate need what it does not have: No variable named 'mean'"
    ):
        claims_of(study, result.drop_vars("mean"))
    with pytest.raises(ValueError, match="'yes' is not a Claim"):
        claims_of(replace(study, claims=lambda result: ["yes"]), result)
    with pytest.raises(ValueError, match="claims = 'falls'"):
        replace(study, claims="falls")


def test_the_report_puts_the_same_claim_together(tmp_path, monkeypatch):
    monkeypatch.setattr("firstlight.show.foundation.CHAPTERS", {})
    studies = [replace(demo.STUDY, name=f"demo/{seed}", claims=falls, seed=seed) for seed in (0, 1)]
    written = report(studies, store=tmp_path / "s.sqlite", destination=tmp_path / "r.html", workers=0)
    page = written.read_text("utf-8")
    assert "What was published, and what holds" in page
    # in the answer and in the tally, and for both studies once in the table and once in its chapter
    assert page.count('<span class="word holds">holds</span>') == 2 + 2 + 2
    assert page.count('<span class="word does-not-hold">does not hold</span>') == 2 + 2 + 2
    assert page.count("times fall &lt;with&gt; the rate") == 2 + 2
    assert page.index("What was published") < page.index('id="chapters"')
    assert "Spearman: -0." in page
    answer = " ".join(page[page.index('<p class="answer">') : page.index("Every claim with")].split())
    one = '<span class="word {}">{}</span>'.format
    holds, fails = one("holds", "holds"), one("does-not-hold", "does not hold")
    assert f"Published claims that were tested here: 2 {holds}." in answer
    assert f"Claims of our own that were tested here: 2 {fails}." in answer
    assert "What was published" not in report([], destination=tmp_path / "none.html").read_text("utf-8")


def test_toml_takes_only_the_claims_of_its_theory(tmp_path):
    text = """
        name = "mine/norms"
        description = "norms"
        problem = "unseen_classes.norm"
        claims = "norms"
        axes.size = [48, 96]
        axes.law = ["truncated"]
        arms.matrix = { kind = "simulate" }
        """
    path = tmp_path / "study.toml"
    path.write_text(text)
    assert read_study(path).claims == "firstlight.unseen_classes.claims:norms"
    for bad in (
        "os:system", "firstlight.unseen_classes.claims:norms", "unseen_classes.norms", "judged", "nothing",
    ):  # fmt: skip
        path.write_text(text.replace('"norms"', f'"{bad}"'))
        with pytest.raises(ValueError, match=r"study\.toml: claims .*unknown"):
            read_study(path)
    path.write_text(text.replace('claims = "norms"', "claims = 3"))
    with pytest.raises(ValueError, match=r"study\.toml: claims 3: unknown"):
        read_study(path)


def test_a_published_bound_is_refuted_from_the_records(tmp_path):
    def call(command, *options):
        words = [command, "unseen-classes/operator-norm", "--store", str(tmp_path / "s.sqlite"), *options]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        return done.stdout

    [claim] = json.loads(call("run", "--workers", "0", "--json"))["claims"]
    assert claim["verdict"] == "does not hold"
    assert "truncated: 0.499 [0.492, 0.507]" in claim["evidence"]
    assert json.loads(call("show", "--json"))["claims"] == [claim]
    assert f"claim does not hold: {claim['text']}\n    {claim['evidence']}" in call("show")


def test_trials_that_share_classes_are_not_independent():
    """Ten classes drawn from many: the interval must cover their population's mean, whatever the trials."""
    rng, repeats, trials = np.random.default_rng(2), 300, 24
    covered = {over_classes: 0, over_trials: 0}
    for _ in range(repeats):
        effects = rng.normal(size=10)
        unseen = np.array([rng.permutation(10) < 5 for _ in range(trials)])
        values = unseen @ effects / 5 + rng.normal(scale=0.3, size=trials)
        for interval, options in ((over_classes, (unseen,)), (over_trials, ())):
            _, low, high = interval(values, *options)
            covered[interval] += low <= 0 <= high
    assert covered[over_classes] / repeats > 0.95 - 3 * np.sqrt(0.95 * 0.05 / repeats)
    assert covered[over_trials] / repeats < 0.6  # what the interval over trials alone would say
    value, low, high = over_classes([0.9, np.nan, 1.0], [[1, 0], [0, 1], [0, 1]], highest=1)
    assert low <= value <= high <= 1
    assert np.isnan(over_classes([np.nan, 1.0], [[1, 0], [0, 1]])[1:]).all()


@pytest.mark.parametrize(
    ("low", "high", "verdict", "factor"),
    [(-0.04, 0.02, "holds", 1), (0.06, 0.2, "does not hold", 1), (-0.3, -0.1, "does not hold", 1),
     (-0.06, 0.02, "undecided", (0.04 / 0.03) ** 2), (0.04, 0.06, "undecided", np.inf)],
)  # fmt: skip
def test_within_a_border(low, high, verdict, factor):
    estimate = Estimate("gap", (low + high) / 2, low, high, border=0.05, side="within")
    assert estimate.verdict == verdict
    assert estimate.trials_factor == pytest.approx(factor, rel=1e-6) or estimate.trials_factor > 1e6 < factor


def _any_claim(rng):
    """One to three parts whose numbers lie on a border or at least 0.05 away from it."""
    parts = []
    for place in range(rng.integers(1, 4)):
        value = rng.integers(-8, 9) / 20
        low, high = value - rng.uniform(0.02, 0.5), value + rng.uniform(0.02, 0.5)
        side = rng.choice(["above", "below", "within", "beyond"])
        strong = {"above": 0.3, "below": -0.3}.get(side) if rng.random() < 0.6 else None
        border = rng.choice([0.1, 0.2]) if side in ("within", "beyond") else 0.0
        fixed, trials = rng.choice([0, 0, 0.04, 0.14]), rng.choice([None, None, 1, 2, 5])
        known = rng.random() < 0.9
        numbers = (value, low, high) if known else (np.nan,) * 3
        parts.append(
            Estimate(f"part {place}", *numbers, border, side, strong, min(fixed, value - low), trials)
        )
    return judged(Statement("x", every=bool(rng.random() < 0.4)), parts)


def _with_more(part, factor):
    """The part with so many times as many trials: `fixed` and the error of the mean add up as variances."""
    low, high = (
        part.value + sign * np.hypot(kept, np.sqrt((reach**2 - kept**2) / factor))
        for sign, reach in ((-1, part.value - part.low), (1, part.high - part.value))
        for kept in [min(reach, part.fixed)]
    )
    trials = None if part.trials is None else int(part.trials * factor)
    return replace(part, low=low, high=high, trials=trials)


def _matters(place, outcomes, every):
    """Whether two ways to close the open parts differ in this one alone, and in the verdict."""
    ways = {words: overall([{word} for word in words], every=every) for words in product(*outcomes)}
    return any(
        ways[one] != ways[other] and all(one[k] == other[k] for k in range(len(one)) if k != place)
        for one, other in product(ways, repeat=2)
    )


def test_trials_that_decide_are_those_of_a_search():
    """Random claims against a dense grid of factors: the first that decides, and why none does."""
    rng, grid, seen = np.random.default_rng(6), np.geomspace(1, 2000, 400), set()
    while len(seen) < 120:
        claim = _any_claim(rng)
        every = claim.statement.every
        if claim.verdict != "undecided":
            assert (claim.trials_factor, claim.outlook(4)) == (1, "")
            continue
        tried = ([_with_more(part, factor) for part in claim.estimates] for factor in grid)
        found = next(
            (k for k, parts in enumerate(tried) if judged(claim.statement, parts).verdict != "undecided"),
            None,
        )
        seen.add((claim.evidence, found is None))
        if found is not None:  # the grid is 2 % wide
            assert grid[max(found - 1, 0)] * 0.999999 <= claim.trials_factor <= grid[found] * 1.000001
            assert claim.outlook(4).startswith("about") or claim.trials_factor > 100
            continue
        assert np.isinf(claim.trials_factor)
        late = [_with_more(part, 1e8).outcomes for part in claim.estimates]
        left = [part for place, part in enumerate(claim.estimates) if _matters(place, late, every)]
        missing, fixed = any(not part.known for part in left), any(part.fixed for part in left)
        why = (
            "a number is missing" if missing else "more trials do not help" if fixed else "lies on the border"
        )
        assert claim.outlook(4) == why
    assert 20 < sum(never for _, never in seen) < 100


def test_what_would_decide_leaves_parts_open_that_cannot_change_the_verdict():
    strong = Estimate("a", 0.96, 0.91, 0.98, strong=0.3)
    near = Estimate("b", -0.01, -0.34, 0.32, strong=0.3)  # on its border, and soon weak at most
    claim = judged("x", [near, strong])
    assert claim.trials_factor == pytest.approx((0.33 / 0.31) ** 2)
    assert claim.outlook(4) == "about 1 more trial"
    unknown = judged(Statement("x", every=True), [Estimate("c", -0.1, -0.3, 0.1), UNKNOWN])
    assert unknown.outlook(4) == "about 12 more trials"  # one part that refutes it is enough
    fixed = Estimate("d", 0.31, 0.21, 0.41, strong=0.3, fixed=0.1)  # it holds, perhaps weakly
    border = Estimate("e", 0.0, -0.1, 0.1, strong=0.3)  # weak, or it fails
    assert judged(Statement("x", every=True), [fixed, border]).outlook(4) == "lies on the border"
    assert judged(Statement("x", every=True), [fixed, YES]).outlook(4) == "more trials do not help"


def test_what_is_decided_needs_no_more_trials():
    point = Estimate("x", 0.0, 0.0, 0.0)
    assert (point.verdict, point.trials_factor) == ("does not hold", 1)
    assert np.isnan(UNKNOWN.trials_factor)


def test_rows_are_kept_and_told_from_other_versions(tmp_path, monkeypatch):
    study = replace(demo.STUDY, claims=falls)
    table = rows_of(study, demo.results(), hours=0.5)
    assert [row.claim.verdict for row in table] == ["holds", "does not hold"]
    assert table[0].sizes == "rate = 0.5 to 2 (3 values)"
    back = read(save(table, tmp_path / "deep" / "claims.json", "firstlight claims"))
    assert [row.plain().keys() for row in back] == [row.plain().keys() for row in table]
    assert [row.verdict for row in back] == [row.verdict for row in table]
    assert back[0].claim.estimates[0].low == pytest.approx(table[0].claim.estimates[0].low, rel=1e-5)
    assert stale(back) == ["demo/rate: there is no such study"]
    monkeypatch.setattr("firstlight.study.registry.studies", lambda: {study.name: study})
    assert stale(back) == []
    for change, line in (
        ({"version": 7}, "made with version 7, it is 1"),
        ({"planned": 9}, f"made with trials 9, it is {study.trials}"),
        ({"sizes": "rate = 1"}, f"made with sizes rate = 1, it is {back[0].sizes}"),
        ({"claim": replace(back[0].claim, verdict="undecided")}, "made with verdict undecided, it is holds"),
    ):
        assert stale([replace(back[0], **change)]) == [f"demo/rate: {line}"]
    for change in ({"text": "times fall"}, {"rule": "below 0.1"}, {"every": True}):
        said = replace(back[0].claim, statement=replace(back[0].claim.statement, **change))
        [line] = stale([replace(back[0], claim=said)])
        assert "nothing states" in line
    unknown = replace(table[0].claim, verdict="undecided", estimates=(UNKNOWN,))
    assert read(save([replace(table[0], claim=unknown)], tmp_path / "u.json", ""))[0].verdict == (
        "undecided: a number is missing"
    )
    for part, outlook in (
        (Estimate("x", 0.1, -0.1, 0.3), "about 12 more trials"),
        (Estimate("x", 0.1, -0.01, 0.3), "about 1 more trial"),
        (Estimate("x", 0.001, -0.1, 0.1), "lies on the border"),
        (Estimate("x", 0.0, -0.1, 0.1), "lies on the border"),
        (Estimate("x", 0.1, -0.2, 0.4, fixed=0.15), "more trials do not help"),
        (Estimate("x", 0.1, -0.2, 0.4, fixed=0.15, stays="why"), "more trials do not help (why)"),
        (Estimate("x", 0.5, 0.4, 0.6, trials=2), "about 1 more trial"),
    ):
        row = replace(table[0], claim=judged("x", [part]), trials=part.trials or 4)
        assert row.verdict == f"undecided: {outlook}"
    assert replace(table[0], trials=1, planned=1).counted == "1 trial"


def test_versions_are_known_without_building():
    values = {study.name: version(study) for study in claimed()}
    assert values
    assert all(isinstance(one, int) for one in values.values())


def test_the_command_judges_one_theory(tmp_path, monkeypatch):
    study = replace(demo.STUDY, claims=falls, name="unseen-classes/demo")
    monkeypatch.setattr("firstlight.study.registry.studies", lambda: {study.name: study})
    files = [tmp_path / name for name in ("s.sqlite", "c.html", "c.json")]
    options = [
        word for pair in zip(("--store", "--html", "--save"), map(str, files), strict=True) for word in pair
    ]
    done = CliRunner().invoke(
        main, ["claims", "--theory", "unseen_classes", "--workers", "0", "--json", *options]
    )
    assert done.exit_code == 0, done.output
    first, second = json.loads(done.stdout)
    assert (first["verdict"], second["verdict"]) == ("holds", "does not hold")
    assert first["estimates"][0]["side"] == "below"
    assert "times fall &lt;with&gt; the rate" in files[1].read_text("utf-8")
    assert [row.study for row in read(files[2])] == [study.name] * 2
    plain = CliRunner().invoke(main, ["claims", "--workers", "0", *options[:2]]).stdout
    assert "holds: times fall" in plain
    assert plain.endswith("published claims: 1 holds\nclaims of our own: 1 does not hold\n")
    assert "firstlight.study.run(study, scale='quick')" in plain  # as no command knows this study
    for minutes, kept in (("0", False), ("5", True)):
        done = CliRunner().invoke(main, ["claims", "--workers", "0", "--within", minutes, *options[:2]])
        assert ("times fall" in done.stdout) is kept
        assert ("unseen-classes/demo: left out, about" in done.output) is not kept
    monkeypatch.setattr(demo.Exponential, "simulate", None)
    done = CliRunner().invoke(main, ["claims", "--workers", "0", "--within", "5", *options[:2]])
    assert "unseen-classes/demo: left out, trials fail" in done.output
    kept = files[1].read_text("utf-8")
    wrong = CliRunner().invoke(main, ["claims", "--workers", "0", "--within", "5", *options])
    assert wrong.exit_code == 2
    assert "c.html: not written, as no claim was judged" in wrong.stderr
    assert files[1].read_text("utf-8") == kept
    wrong = CliRunner().invoke(main, ["claims", "--workers", "0", "--save", str(tmp_path), *options[:2]])
    assert wrong.exit_code == 2
    assert "must be a file, and is a folder" in wrong.stderr
    wrong = CliRunner().invoke(main, ["claims", "--theory", "alchemy", *options[:2]])
    assert wrong.exit_code == 2
    assert "theory 'alchemy': unknown" in wrong.output
    wrong = CliRunner().invoke(main, ["claims", "--scale", "papr", *options[:2]])
    assert wrong.exit_code == 2
    assert "scale 'papr': unknown" in wrong.output
    assert "quick" in wrong.output
    assert markdown(read(files[2])).count("\n| **") == 2


def test_the_command_judges_the_studies_that_are_named(tmp_path, monkeypatch):
    known = {name: replace(demo.STUDY, claims=falls, name=name) for name in ("demo/a", "demo/b", "demo/c")}
    monkeypatch.setattr("firstlight.study.registry.studies", lambda: known)
    kept = tmp_path / "c.json"
    line = ["claims", "--workers", "0", "--store", str(tmp_path / "s.sqlite"), "--save", str(kept)]
    done = CliRunner().invoke(main, [*line, "--study", "demo/c", "--study", "demo/a"])
    assert done.exit_code == 0, done.output
    assert [row.study for row in read(kept)] == ["demo/a"] * 2 + ["demo/c"] * 2
    command = json.loads(kept.read_text("utf-8"))["command"]
    assert command == "firstlight claims --study demo/c --study demo/a --scale quick --save c.json"
    wrong = CliRunner().invoke(main, [*line, "--study", "demo/d"])
    assert wrong.exit_code == 2
    assert "study 'demo/d': unknown" in wrong.output
