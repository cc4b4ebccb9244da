"""The published claims about images of two digits, each judged by what gradient descent did in a study."""

import xarray as xr

from firstlight.study.claims import Claim, Estimate, judged, over_trials

SEPARABLE = "images of two digits are nearly orthogonally separable"
TURN = "neurons turn to the centre of their class before the loss falls"
RANK = "the trained network has a stable rank of at most 2"

_NEARLY = 0.9  # a share of pairs, and a cosine, from which one may say "nearly" and "turned"
_FALLEN = 0.95  # of the loss at the start


def digits(found: xr.Dataset) -> list[Claim]:
    """Judge a study of two digits: pairs of images, cosines when the loss begins to fall, rank at the end."""
    descent = found.sel(arm="descent").isel(samples=-1)  # the largest sample
    loss = descent["loss"]
    # Where the loss has not fallen by the end, there is no such time, and nothing is known.
    fallen = (loss <= _FALLEN * loss.isel(time=0)).cumsum("time") == 1
    turned = [
        Estimate(
            f"cosine to x{sign}",
            *over_trials(descent[name].where(fallen).max("time"), -1, 1),
            border=_NEARLY,
        )
        for name, sign in (("cosine_plus", "₊"), ("cosine_minus", "₋"))
    ]
    pairs = over_trials(descent["right_sign"], 0, 1)
    rank = over_trials(descent["stable_rank"].isel(time=-1), 1)
    return [
        judged(SEPARABLE, [Estimate("share of right-signed cosines", *pairs, border=0.5, strong=_NEARLY)]),
        judged(TURN, turned),
        judged(RANK, [Estimate("stable rank", *rank, border=2.0, side="below")]),
    ]
