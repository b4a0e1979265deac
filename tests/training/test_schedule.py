"""The learning rate: warm-up, plateau or cosine, the same however a run is cut into chunks."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from directgp.training.schedule import learning_rates


@given(total=st.integers(1, 3000), cut=st.integers(1, 2999), decay=st.booleans())
def test_rates_do_not_depend_on_the_chunks(total, cut, decay):
    whole = learning_rates(0, 3000, total, 0.05, decay=decay)
    parts = [
        learning_rates(0, cut, total, 0.05, decay=decay),
        learning_rates(cut, 3000 - cut, total, 0.05, decay=decay),
    ]
    np.testing.assert_array_equal(whole, np.concatenate(parts))
    assert (whole > 0).all() and (whole <= 0.05).all()


def test_it_rises_then_falls_to_the_floor_and_stays_there():
    rates = learning_rates(0, 1200, 1000, 1.0)
    peak = int(np.argmax(rates))
    assert rates[0] == 0.05 and 19 <= peak <= 20 and rates[peak] == 1.0
    assert (np.diff(rates[: peak + 1]) > 0).all() and (np.diff(rates[peak + 1 : 1001]) < 0).all()
    np.testing.assert_allclose(rates[1000:], 0.01)


def test_without_decay_it_stays_at_the_peak():
    rates = learning_rates(0, 1200, 1000, 0.3, decay=False)
    assert (rates[20:] == 0.3).all() and (np.diff(rates[:20]) > 0).all()
