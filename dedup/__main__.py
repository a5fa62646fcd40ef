"""Run the command `dedup` as `python -m dedup`."""

from dedup.cli.main import main

if __name__ == "__main__":
    main()
