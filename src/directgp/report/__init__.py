"""Reports: one self-contained HTML file with the scores, calibration and errors of a model.

    Judged, Table        the input of a report: predictions with observed targets, and the rows
    evaluation_report    report of one model
    comparison_report    report of several models, with a recommendation and its reasons
    choose               the recommendation alone
    report_of_targets    report of one model with one or several targets
    relevance            which inputs matter (ARD, or slopes)

A page loads nothing from the network, supports light and dark mode and small screens, and has a
text alternative for every figure.
"""

from directgp.report.comparison import Choice, choose, comparison_report
from directgp.report.evaluation import evaluation_report, headline, report_of_targets
from directgp.report.findings import Finding
from directgp.report.judged import Judged, Table, Targets
from directgp.report.relevance import relevance, relevance_means

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
