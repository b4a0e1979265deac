"""Every loss with every likelihood, model and divergence: what trains, what is refused and why.

parts.py     the parts that are combined, and small tables for them
outcome.py   one combination: a few steps, or the line that refuses it
exact.py     exact inference with every likelihood
store.py     outcomes in a file of lines, and the run that fills it
reasons.py   why each refusal is: mathematics, or work that is missing
page.py      docs/combinations.md, made from the file
"""
