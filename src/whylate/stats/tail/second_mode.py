"""Are the very largest latencies of the same kind as the others, or of a mechanism of their own?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whylate.stats.limits import fishers_p
from whylate.stats.tail.pareto import fit_pareto

Floats = NDArray[np.float64]

#: So many of the largest are held against what the others let expect: by twenty too, because a
#: mode that has ten itself hides among ten.
LARGEST = (10, 20)


def second_mode_p(excess_ns: Floats, largest: int) -> float:
    """Return the p-value of the largest excesses being those of the others' distribution.

    excess_ns: shape (k,), above 0; largest + 10 at least, ValueError else.

    A generalised Pareto is fitted to the excesses, of which the largest are only known to be longer
    than the next. Given that, the chance of each to be as long as it was is uniform, and Fisher's
    combination of them is small where they are longer than they ought to be: a second mode of low
    density makes them so. One event of it hardly shows; none cannot. The fit is taken as known, and
    clusters as independent, so that of one mechanism it falls below .01 in 2 to 4 %.
    """
    fitted = fit_pareto(excess_ns, largest)
    at = fitted.log_survival(np.sort(excess_ns)[-largest - 1 :])
    return fishers_p(np.exp(at[1:] - at[0]).tolist())
