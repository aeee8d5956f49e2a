"""What is replaced for a while is there again afterwards."""

import pytest

from experiments.replaced import replaced


class Base:
    @staticmethod
    def answer() -> int:
        return 1


class Inheriting(Base):
    pass


def test_it_is_replaced_until_the_end_whatever_happens() -> None:
    before = vars(Base)["answer"]
    with pytest.raises(ZeroDivisionError), replaced(Base, "answer", lambda: 2):
        assert Base.answer() == 2
        raise ZeroDivisionError
    assert vars(Base)["answer"] is before
    assert Base().answer() == 1


@pytest.mark.parametrize("name", ["answer", "question"])
def test_what_is_not_its_own_is_not_replaced(name: str) -> None:
    with pytest.raises(KeyError), replaced(Inheriting, name, None):
        raise AssertionError
