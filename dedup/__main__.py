"""`python -m dedup` is the command `dedup`."""

from dedup.cli.main import main

if __name__ == "__main__":
    main()
