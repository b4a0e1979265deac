"""``python -m experiments``: the papers' tables and figures, from the root of the repository."""

from experiments.commands.app import main

if __name__ == "__main__":
    main()
