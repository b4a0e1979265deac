"""``python -m directgp`` is the command ``directgp``."""

from directgp.cli.app import main

if __name__ == "__main__":
    main()
