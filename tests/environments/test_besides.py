"""What revisions have besides their code, as it is typed."""

import pytest

from waitbench.environments.revisions import resolve
from waitbench.model.errors import UsageError


def test_packages_stand_behind_a_revision() -> None:
    (found,) = resolve(["L=v0.21.1+toolz==0.12.0+A.b==1!2.0rc1"], None)
    assert (found.label, found.beside) == ("L", ("toolz==0.12.0", "A.b==1!2.0rc1"))
    (found,) = resolve(["v0.21.1+toolz==0.12.0"], None)
    assert found.label == "v0.21.1+toolz==0.12.0"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("v0.21.1+toolz==1.0+Toolz==1.1", "has Toolz twice"),
        ("v0.21.1+toolz==abc", "'abc' is not a version of toolz"),
        ("v0.21.1+toolz==", "'' is not a version of toolz"),
        ("v0.21.1+toolz==1.*", "is not a version of toolz"),
        # A label, else, of a revision 0.20.1.
        ("v0.21.1+toolz=0.20.1", r"a package beside it is \+NAME==VERSION"),
        ("v0.21.1+toolz>=0.12", r"a package beside it is \+NAME==VERSION"),
    ],
)
def test_what_would_not_be_heeded_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        resolve([text], None)
