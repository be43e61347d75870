"""Online learning of linear models in one pass, with a certificate of regret.

The plain interface is :class:`Learner`. ``noregret.sklearn`` has estimators for scikit-learn, ``noregret.river`` models for
River. :func:`audit` brackets the best in hindsight, :func:`compare` runs several learners on one stream, :func:`separate`
finds separating hyperplanes. :class:`Client` talks to a server.

>>> import noregret
>>> learner = noregret.Learner("projected-ogd", loss="hinge", radius=1)
>>> learner.learn_many([[1.0, 0.0], [0.0, 1.0]], [1, -1])
>>> learner.predict_many([[2.0, 0.0], [0.0, 3.0]])
array([ 1, -1])
"""

from ._audit import Audit, audit
from ._client import Client, ServerError
from ._compare import Comparison, compare
from ._noregret import Certificate, Learner, Ledger, __version__
from ._registry import learners, losses
from ._separate import Separation, separate

__all__ = [
    "Audit",
    "Certificate",
    "Client",
    "Comparison",
    "Learner",
    "Ledger",
    "Separation",
    "ServerError",
    "__version__",
    "audit",
    "compare",
    "learners",
    "losses",
    "separate",
]
