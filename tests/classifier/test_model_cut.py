import numpy as np
import pytest

from astralearn.classifier.decision import cut_for, left_out, possible_worlds
from astralearn.classifier.evidence import evidence_of
from astralearn.classifier.model_cut import FLATTERY, MODEL_TAIL, cut_scores


def scored(k=20, n=4000, lead=3.0, seed=0):
    rng = np.random.default_rng(seed)
    scores = np.r_[rng.normal(size=n), rng.normal(lead, size=k)]
    return scores, np.r_[np.zeros(n), np.ones(k)]


@pytest.mark.parametrize("decision", ["g_mean", "mcc", {"alerts": 0.02}, {"cost": {0: 1, 1: 50}}])
@pytest.mark.parametrize("seen", [False, True])
def test_the_cut_is_the_decision_s_in_evidence(decision, seen):
    scores, y = scored()
    majority, positives = scores[y == 0], scores[y == 1]
    evidence = evidence_of(majority, np.ones(len(majority)), highest=scores.max(), tail=MODEL_TAIL)
    share = len(positives) / (len(positives) + FLATTERY) if seen else 1.0
    rests_on = left_out(
        positives=share * evidence(positives),
        positive_weight=np.ones(len(positives)),
        majority=evidence(majority),
        majority_weight=np.ones(len(majority)),
        prior=y.mean(),
    )
    expected = cut_for(decision, possible_worlds(rests_on), positive=1, negative=0)
    found = cut_scores(scores, y, decision, seen=seen)
    assert evidence(np.asarray([found.score])).item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_positives_that_were_seen_lower_the_cut(seed):
    scores, y = scored(k=5, lead=6.0, seed=seed)
    assert cut_scores(scores, y, seen=True).score < cut_scores(scores, y).score - 0.4


def test_what_is_expected_comes_true_on_new_rows():
    cut = cut_scores(*scored(k=200, n=20_000))
    scores, y = scored(k=20_000, n=20_000, seed=1)
    flagged = cut.flags(scores)
    assert cut.expectations.recall.low < flagged[y == 1].mean() < cut.expectations.recall.high
    alarms = 1_000 * flagged[y == 0].mean()
    assert cut.expectations.false_alarms.low < alarms < cut.expectations.false_alarms.high
    assert "Flags scores from" in str(cut)


def test_without_positives_the_cut_is_the_usual_one():
    scores, y = scored(k=0)
    cut = cut_scores(scores, y, prior=0.001)
    assert 0.02 < cut.flags(scores).mean() < 0.4
    assert cut.expectations.positives == 0


def test_missing_labels_count_for_nothing():
    scores, y = scored()
    joined = cut_scores(np.r_[scores, 9.0], np.r_[y, np.nan])
    assert joined.score == cut_scores(scores, y).score


@pytest.mark.parametrize(
    ("scores", "labels", "settings", "message"),
    [
        ([[1.0]], [[1.0]], {}, r"one per row and labels of their shape; found \(1, 1\)"),
        ([1.0, np.nan], [0, 1], {}, "scores must be finite"),
        ([1.0, 2.0], [0, 2], {}, r"labels must be 0, 1 or NaN \(missing\); found 2"),
        ([1.0, 2.0], [0, 1], {}, "a cut needs at least 2 negatives; found 1"),
        ([1.0, 2.0], [0, 0], {}, "prior must be given where no row is positive"),
        ([1.0, 2.0], [0, 0], {"prior": 2.0}, r"prior must be in \(0, 1\); found 2"),
        ([1.0, 2.0], [0, 0], {"prior": "x"}, r"prior must be in \(0, 1\); found 'x'"),
        ([1.0, 2.0], [0, 0], {"decision": "auc"}, "decision must be one of 'g_mean'"),
    ],
)
def test_mistakes_are_named(scores, labels, settings, message):
    with pytest.raises(ValueError, match=message):
        cut_scores(np.asarray(scores), np.asarray(labels), **settings)


@pytest.mark.parametrize("scores", [[1.0], None, "x"])
def test_flags_asks_for_an_array(scores):
    with pytest.raises(TypeError, match="scores must be an array; found"):
        cut_scores(*scored()).flags(scores)
