"""The picture of a training."""

import numpy as np

from trainer.base.curve import draw


def test_the_loss_is_blue_dots_and_the_score_goes_up_in_orange(tmp_path):
    steps = [{"step": at, "loss": 4.0, "score": at / 40 if at % 10 == 0 else None} for at in range(1, 41)]
    draw(steps, tmp_path / "curve.png")
    from matplotlib import pyplot as plt  # half a second, for this test alone

    picture = plt.imread(tmp_path / "curve.png")[:, :, :3]
    assert picture.shape == (540, 960, 3)  # 8 by 4.5 inches of 120 dots
    blue, orange = (
        np.argwhere(np.abs(picture - np.array(colour) / 255).sum(axis=2) < 0.05) for colour in BLUE_ORANGE
    )
    assert np.ptp(blue[:, 1]) > 500  # across the whole width
    left, right = orange[orange[:, 1].argmin()], orange[orange[:, 1].argmax()]
    assert right[0] < left[0]  # rows are counted from above


BLUE_ORANGE = ((31, 119, 180), (255, 127, 14))
