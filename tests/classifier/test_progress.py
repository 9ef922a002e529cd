from astralearn.classifier.progress import bar
from astralearn.engine.training import Progress
from rare_problems import quick, rare

FIRST = Progress(
    group=0, n_groups=2, epoch=10, epochs=60, loss=0.5, fnr=0.25, e_ratio=2.0, threshold=0.2
)


def test_before_the_first_epoch_nothing_is_said_of_it(capsys):
    with bar(verbose=1, epochs=60):
        pass
    shown = capsys.readouterr().out
    assert "0/60" in shown
    assert "nan" not in shown
    assert "loss" not in shown


def test_groups_are_averaged(capsys):
    with bar(verbose=1, epochs=60) as show:
        show(FIRST)
        show(FIRST._replace(group=1, epoch=30))
    shown = capsys.readouterr().out
    assert all(
        word in shown for word in ("20/60", "loss 0.5000", "FNR 0.250", "e-ratio 2", "τ 0.2")
    )


def test_nobody_watches_where_nothing_is_shown(capsys):
    with bar(verbose=0, epochs=60) as show:
        assert show is None
    assert capsys.readouterr().out == ""


def test_a_fit_shows_its_epochs(capsys):
    X, y = rare()
    quick(verbose=1).fit(X, y)
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("epoch", "60/60", "loss", "FNR", "e-ratio", "τ"))
    quick().fit(X, y)
    assert capsys.readouterr().out == ""
