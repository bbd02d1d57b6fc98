"""What revisions have besides their code, as it is typed."""

import pytest

from waitbench.environments.revisions import resolve
from waitbench.model.errors import UsageError


def test_packages_and_knobs_stand_behind_a_revision_in_any_order() -> None:
    (found,) = resolve(["L=streamz@0.6.6+toolz==0.12.0+poll_interval:0.5+A.b==1!2.0rc1"], {})
    assert (found.label, found.beside) == ("L", ("toolz==0.12.0", "A.b==1!2.0rc1"))
    assert found.settings == {"poll_interval": "0.5"}
    (found,) = resolve(["streamz@0.6.6+toolz==0.12.0"], {})
    assert found.label == "streamz@0.6.6+toolz==0.12.0"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("v0.21.1+awake_ms:abc", "awake_ms takes a number from 0 to 1,000,000,000, such as"),
        ("v0.21.1+awake_ms:-5", "takes a number from 0"),
        ("v0.21.1+awake_ms:", "takes a number from 0"),
        ("v0.21.1+awake_ms:nan", "takes a number from 0"),
        ("v0.21.1+awake_ms:1e3", "takes a number from 0"),
        ("v0.21.1+awake_ms:2000000000", "takes a number from 0"),
        ("timely@0.32.0+idle_spin:0.5", "takes a whole number from 0"),
        # Neither of them would have been heeded, but shown in the label.
        ("pathway@0.33.0+commit_each:true", "takes a whole number from 0 to 1, such as"),
        ("v0.21.1+awake_ms:5+awake_ms:6", "has awake_ms twice"),
        ("v0.21.1+toolz==1.0+Toolz==1.1", "has toolz twice"),
        ("v0.21.1+toolz==abc", "'abc' is not a version of toolz"),
        ("v0.21.1+toolz==", "'' is not a version of toolz"),
        ("v0.21.1+toolz==1.*", "is not a version of toolz"),
        # A label, else, of a revision 0.20.1.
        ("v0.21.1+toolz=0.20.1", r"a package beside it is \+NAME==VERSION"),
        ("v0.21.1+awake_ms=50", r"a knob \+KNOB:VALUE"),
        ("v0.21.1+toolz>=0.12", r"a package beside it is \+NAME==VERSION"),
        ("streamz@0.6.6+toolz=0.12", r"a package beside it is \+NAME==VERSION"),
    ],
)
def test_what_would_not_be_heeded_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        resolve([text], {})


def test_a_label_may_have_a_plus_sign() -> None:
    (found,) = resolve(["after+fix=streamz@0.6.6"], {})
    assert found.label == "after+fix"
