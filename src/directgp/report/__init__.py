"""Reports: one HTML file that says in plain words, numbers and pictures how good a model is.

    Judged, Table        what a report is about: predictions beside the truth, and the rows
    evaluation_report    the page of one model
    comparison_report    the page of several, with a recommendation and its reasons
    choose               that recommendation alone
    report_of_targets    the page of one model with one target or several
    relevance            which inputs matter (ARD, or slopes)

A page loads nothing from the network, follows the reader's light or dark setting, fits a phone and
describes every figure in words.
"""

from directgp.report.comparison import Choice, choose, comparison_report
from directgp.report.evaluation import evaluation_report, headline, report_of_targets
from directgp.report.judged import Judged, Table, Targets
from directgp.report.relevance import relevance, relevance_means
from directgp.report.words import Finding

__all__ = [
    "Choice",
    "Finding",
    "Judged",
    "Table",
    "Targets",
    "choose",
    "comparison_report",
    "evaluation_report",
    "headline",
    "relevance",
    "relevance_means",
    "report_of_targets",
]
