"""m-TOPO's core on hand-made groups."""

import numpy as np

from engine.placers.m_topo import fill


def test_one_device_after_the_other_is_filled() -> None:
    allowed = np.ones((5, 2), dtype=bool)
    assert fill(allowed, np.full(5, 10.0), np.arange(2), np.array([30.0, 30.0])).tolist() == [0, 0, 0, 1, 1]


def test_what_may_not_go_there_goes_on_and_the_filling_stays() -> None:
    allowed = np.array([[True, True], [False, True], [True, True]])
    assert fill(allowed, np.full(3, 10.0), np.arange(2), np.array([30.0, 30.0])).tolist() == [0, 1, 0]


def test_devices_that_are_not_filled_get_what_may_go_nowhere_else() -> None:
    allowed = np.array([[True, True, True], [False, False, True]])
    assert fill(allowed, np.full(2, 10.0), np.arange(2), np.full(3, 30.0)).tolist() == [0, 2]


def test_where_nothing_has_room_the_roomiest_device_is_taken() -> None:
    allowed = np.ones((3, 2), dtype=bool)
    assert fill(allowed, np.full(3, 10.0), np.arange(2), np.array([1.0, 2.0])).tolist() == [1, 0, 1]


def test_devices_are_filled_in_the_order_given() -> None:
    allowed = np.ones((3, 2), dtype=bool)
    assert fill(allowed, np.full(3, 10.0), np.array([1, 0]), np.array([20.0, 20.0])).tolist() == [1, 1, 0]
