"""Online learning of linear models in one pass, with a certificate of regret.

The plain interface is :class:`Learner`. ``noregret.sklearn`` has estimators for scikit-learn, ``noregret.river`` models for River.

>>> import noregret
>>> learner = noregret.Learner("projected-ogd", loss="hinge", radius=1)
>>> learner.learn_many([[1.0, 0.0], [0.0, 1.0]], [1, -1])
>>> learner.predict_many([[2.0, 0.0], [0.0, 3.0]])
array([ 1, -1])
"""

from ._noregret import Certificate, Learner, Ledger, __version__
from ._registry import learners, losses

__all__ = ["Certificate", "Learner", "Ledger", "__version__", "learners", "losses"]
