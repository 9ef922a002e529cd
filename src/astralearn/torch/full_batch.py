"""The full batch's gradient in the memory of one micro-batch."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from astralearn.core.class_means import Means
from astralearn.torch.batch_means import batch_means, factors_of, gradient_of, widened
from astralearn.torch.losses import SummedLossModule
from astralearn.torch.namespaces import eager
from astralearn.torch.ranks import gather_means, world_size


def full_batch_backward(
    model: nn.Module,
    loss: nn.Module,
    batches: Iterable[Any],
    *,
    forward: Callable[[nn.Module, Any], tuple[Tensor, ...]] | None = None,
) -> Tensor:
    """Add the gradient of all batches joined to `.grad`; return their loss.

    Two passes over the micro-batches: the first, without a graph, adds up the loss's means; the
    second sends each micro-batch's exact share of the gradient back. Memory is that of one
    micro-batch, whatever their number; time is one more forward pass. Both passes start from one
    state of torch's random numbers, of the loader's and its samplers' generators and of the
    samplers' epochs, so dropout and a shuffling DataLoader repeat themselves; afterwards all of
    them are as after one pass.

    Exact if the model treats examples one by one. Batch normalisation in training mode does not:
    its statistics are those of each micro-batch; its running ones move once, in the second pass.

    model: from inputs to logits; DDP-wrapped works if the loss has a process_group, and
        communicates once, at the end.
    loss: any of this package's, without `running`.
    batches: a list, a DataLoader, anything that can be iterated over twice and gives the same
        micro-batches, each (inputs, target) or (inputs, target, sample_weight).
    forward: (model, batch) → (logits, target) or (logits, target, sample_weight), for batches of
        another kind.

    >>> from astralearn.torch import GMNLoss
    >>> model = nn.Linear(2, 1)
    >>> x, y = torch.randn(8, 2), torch.tensor([[1.0]] + [[0.0]] * 7)
    >>> loss = full_batch_backward(model, GMNLoss(), [(x[:4], y[:4]), (x[4:], y[4:])])
    >>> torch.allclose(loss, GMNLoss()(model(x), y))
    True
    """
    if not isinstance(loss, SummedLossModule):
        hint = ": use astralearn.torch.BCELoss()" if isinstance(loss, nn.BCEWithLogitsLoss) else ""
        raise TypeError(
            "loss must be one of astralearn.torch's, which adds up over micro-batches; "
            f"found {type(loss).__name__}{hint}"
        )
    if loss.running is not None:
        raise ValueError(
            "full_batch_backward is exact, a loss with running sums is not: "
            "use GMNLoss() without `running`"
        )
    # Asking iter() instead would make a DataLoader draw random numbers.
    if isinstance(batches, Iterator):
        raise TypeError(
            "full_batch_backward goes through the batches twice: "
            "pass a list or a DataLoader, not an iterator or generator"
        )
    look = forward or _logits_and_labels
    rewind = _rewinder(batches)
    with torch.no_grad(), _buffers_restored(model):
        total = _total(loss, (loss.prepared(*look(model, batch)) for batch in batches))
    scale = 1.0
    if loss.process_group is not None:
        total = gather_means(loss.loss, total, loss.process_group)
        scale = float(world_size(loss.process_group))
    losses: Tensor = loss.loss.of_means(total, xp=eager)
    each = torch.full_like(losses, scale / losses.numel())
    rewind()
    for batch, is_last in _with_end(batches):
        no_sync = getattr(model, "no_sync", contextlib.nullcontext)
        with contextlib.nullcontext() if is_last else no_sync():
            g, y, weight = loss.prepared(*look(model, batch))
            with torch.no_grad():
                _, counted = batch_means(loss.loss, g, y, weight, loss.axis(g))
                factors = [
                    ((of_0 * each).to(y.dtype), (of_1 * each).to(y.dtype))
                    for of_0, of_1 in factors_of(loss.loss, counted, total)
                ]
                gradient = gradient_of([block.pulls for block in counted], factors, y)
            g.backward(gradient.to(g.dtype))  # type: ignore[no-untyped-call]
    return loss.reduced(losses).to(g.dtype)


def _logits_and_labels(model: nn.Module, batch: Any) -> tuple[Tensor, ...]:
    if not isinstance(batch, (tuple, list)) or len(batch) not in (2, 3):
        found = f"a {type(batch).__name__}" + (
            f" of {len(batch)}" if isinstance(batch, (tuple, list)) else ""
        )
        raise TypeError(
            "a batch must be (inputs, target) or (inputs, target, sample_weight), "
            f"unless `forward` is given; found {found}"
        )
    inputs, *labels = batch
    return model(inputs), *labels


def _total(
    loss: SummedLossModule, prepared: Iterable[tuple[Tensor, Tensor, Tensor | None]]
) -> Means:
    """The means of all micro-batches, joined in float64: they may be thousands."""
    total: Means | None = None
    for g, y, weight in prepared:
        means, _ = batch_means(loss.loss, g, y, weight, loss.axis(g))
        wide = widened(means)
        total = wide if total is None else loss.loss.add(total, wide, xp=eager)
    if total is None:
        raise ValueError("batches must hold at least one micro-batch")
    return total


def _with_end(batches: Iterable[Any]) -> Iterator[tuple[Any, bool]]:
    """Each batch, and whether it is the last."""
    iterator = iter(batches)
    current = next(iterator)
    for following in iterator:
        yield current, False
        current = following
    yield current, True


@contextlib.contextmanager
def _buffers_restored(model: nn.Module) -> Iterator[None]:
    """Restore the buffers afterwards, but for those that first appear within."""
    before = {name: buffer.clone() for name, buffer in model.named_buffers()}
    try:
        yield
    finally:
        for name, buffer in model.named_buffers():
            if name in before:
                buffer.copy_(before[name])


def _rewinder(batches: Iterable[Any]) -> Callable[[], None]:
    """What goes back, when called, to the random numbers and epochs of now."""
    cpu = torch.get_rng_state()
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    sources = list(_loader_and_samplers(batches))
    generators = [
        source.generator
        for source in sources
        if isinstance(getattr(source, "generator", None), torch.Generator)
    ]
    states = [generator.get_state() for generator in generators]
    epochs = [(source, source.epoch) for source in sources if hasattr(source, "epoch")]

    def rewind() -> None:
        torch.set_rng_state(cpu)
        if cuda:
            torch.cuda.set_rng_state_all(cuda)
        for generator, state in zip(generators, states, strict=True):
            generator.set_state(state)
        for source, epoch in epochs:
            # An epoch that stays may be read-only.
            if source.epoch != epoch:
                source.epoch = epoch

    return rewind


def _loader_and_samplers(batches: Any) -> Iterator[Any]:
    """The loader, its samplers, and theirs: what may hold a generator or an epoch."""
    yield batches
    for name in ("sampler", "batch_sampler"):
        if getattr(batches, name, None) is not None:
            yield from _loader_and_samplers(getattr(batches, name))
