"""The papers by their key in specs, docs and code."""

PAPERS = {
    "dlm": "Direct loss minimisation for sparse GPs (`dlm`: Wei, Sheth, Khardon 2021)",
    "dspp": "Deep sigma point processes (`dspp`: Jankowiak, Pleiss, Gardner 2020)",
    "gvi": "Robust deep GPs (`gvi`: Knoblauch 2019)",
    "lossem": "Inference for the loss-calibrated Bayesian "
    "(`lossem`: Lacoste-Julien, Huszár, Ghahramani 2011)",
}
