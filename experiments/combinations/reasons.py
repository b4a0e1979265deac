"""Reasons why combinations are errors: mathematics, or missing work."""

import re
from dataclasses import dataclass

MATHEMATICS, MISSING, UNKNOWN = "mathematics", "missing work", "no reason given"


@dataclass(frozen=True)
class Reason:
    """The reason of errors whose text matches `pattern`."""

    pattern: str
    kind: str
    why: str


REASONS = (
    Reason(
        r"^Pinball needs quantiles, which classes do not have",
        MATHEMATICS,
        "A quantile is the value below which a share of the distribution lies. Classes are names: "
        "they have no order, so there is no *below* and no quantile for the pinball loss to score.",
    ),
    Reason(
        r"^several outputs need a likelihood of one latent function, Categorical",
        MISSING,
        "Each output of K classes has K latent functions, which the mixing of outputs could have "
        "as well: T·K mixtures instead of T. Nothing forbids it; `MultiOutput` has one mixture for "
        "each output.",
    ),
    Reason(
        r"^a direct robust loss is not known for the outputs of a row together \(ProductVector\)",
        MISSING,
        "∫ p(y)^power dy goes over all outputs of a row together. For Gaussian noise it is known; "
        "else p(y) is an average over correlated latent functions, and the integral (for counts a "
        "sum over all their combinations, for classes over 2^T) needs a rule in T dimensions. "
        "The Gibbs form needs only products of known sums, and trains.",
    ),
    Reason(
        r"^exact classification is for two classes, got Gaussian;",
        MATHEMATICS,
        "With Gaussian noise the posterior is a Gaussian in closed form, and Laplace's "
        "approximation and EP are that posterior: `exact.regression` computes it.",
    ),
    Reason(
        r"^exact classification is for two classes, got (StudentT|Poisson|NegativeBinomial)",
        MISSING,
        "Laplace's approximation and EP need only derivatives and moments of p(y given f), which "
        "these likelihoods have; the exact models are written for two classes and Gaussian noise.",
    ),
    Reason(
        r"(two classes|is for the probit link), got Categorical;",
        MISSING,
        "Laplace's approximation of several classes exists (`exact.exact_classification`, in the "
        "stack), loss-EM too (`exact.multiclass_loss_em`); `inference=` does not lead to them. EP "
        "of several classes would need a site of several latent values.",
    ),
    Reason(
        r"is for the probit link, got BernoulliLogit;",
        MISSING,
        "The gain of a decision is a function of E[σ(f*) given f], Φ of a multiple of f for the "
        "probit; for the logistic link it is an integral over one value, which is not written.",
    ),
    Reason(
        r"is for the probit link, got (Gaussian|StudentT|Poisson|NegativeBinomial)",
        MATHEMATICS,
        "These algorithms weigh the two mistakes of a decision between two classes (`lossem` "
        "Tables 1 to 3). Numbers and counts have no such mistakes; `decide` minimises their costs.",
    ),
)


def reason_for(refusal: str) -> Reason:
    """The reason of an error; one of kind `UNKNOWN` if none is listed.

    >>> reason_for("Pinball needs quantiles, which classes do not have; use log loss").kind
    'mathematics'
    >>> reason_for("not today").kind
    'no reason given'
    """
    for reason in REASONS:
        if re.search(reason.pattern, refusal):
            return reason
    return Reason(re.escape(refusal), UNKNOWN, "")
