"""The command line as ``python -m firstlight``, for environments whose scripts are not on the path."""

from firstlight.cli import main

if __name__ == "__main__":
    main()
