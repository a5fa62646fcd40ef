"""Run the command `dedup` as `python -m dedup`."""

from dedup.cli.start import main

if __name__ == "__main__":
    main()
