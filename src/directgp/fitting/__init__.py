"""From a table of numbers to a trained model: specs, preparation, `fit` and its relatives.

specs/             what can be chosen: models to build, and how to train
flat_options.py    specs from flat, named options: estimators, command line, experiments
fit.py             `fit`: one output, any model
fit_outputs.py     `fit_outputs`: several outputs, some of them missing
fit_stream.py      `fit_stream`: tables larger than memory
fit_collapsed.py   `fit_collapsed`: objectives whose q(u) is solved for
fitted.py          the result, in the units of the user's data
"""
