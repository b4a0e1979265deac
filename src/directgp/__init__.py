"""directgp: Gaussian processes trained for the loss their predictions will be judged by.

    objective(q) = (N / |batch|) Σ_i loss(y_i, q at x_i) + Σ_layers β_l divergence(q(u_l) ‖ p(u_l))

Where each term lives:

=================  ==========================================================
`objective`        the equation itself
`losses`           loss: Gibbs(score) or Direct(score); scores log, square
`likelihoods`      p(y | f)
`expectations`     how integrals over f are done
`divergences`      divergence(q ‖ p)
`models`           q at x: sparse GPs and their collapsed forms
`kernels`          what "similar inputs" means
`training`         how it is minimised, and how β is chosen
`predictive`       what comes back, in the user's units; `metrics` scores it
=================  ==========================================================
"""
