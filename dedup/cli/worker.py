"""Command `worker`: settle new articles until stopped."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import ExitStack
from typing import Annotated

import typer
from typer import Option

import dedup
from dedup.base import logs
from dedup.base.errors import InputError
from dedup.base.machine import MAX_WORKERS
from dedup.cli.shared import METRICS_PACKAGES, LogFormatOption, LogLevelOption, corpus, needs
from dedup.cli.signals import leaving, unfinished
from dedup.cli.systemd import notifying

log = logging.getLogger("dedup.worker")


def worker(
    once: Annotated[bool, Option("--once", help="Settle once and end, like `dedup backfill`.")] = False,
    poll: Annotated[
        float, Option(min=0.1, max=3600, help="Maximum seconds between two searches for new articles.")
    ] = 1.0,
    workers: Annotated[
        int | None, Option(min=1, max=MAX_WORKERS, help="Threads; default: the number of cores plus one.")
    ] = None,
    metrics_port: Annotated[
        int | None, Option(min=0, max=65535, help="Port for Prometheus; needs the extra `metrics`.")
    ] = None,
    metrics_host: Annotated[
        str, Option(help="Address for Prometheus; 127.0.0.1 serves only this machine.")
    ] = "127.0.0.1",
    log_format: LogFormatOption = "text",
    log_level: LogLevelOption = "info",
) -> None:
    """Settle new articles within a second of their arrival, until stopped.

    You may run several workers, on any machines: one worker settles; the other workers stand by, and one of
    them takes over if the first ends. A worker waits for a database that does not answer. If the login is
    refused, or the schema has another version, the worker ends with exit code 1.

    At SIGTERM, SIGHUP or Ctrl-C a worker finishes its batch and ends with exit code 0, within 10 seconds; a
    second signal ends the worker at once. The next worker continues unfinished work.

    **Examples**

        dedup worker --log-format json

        dedup worker --once
    """
    logs.configure(log_format, log_level)
    with leaving() as leave, notifying(leave) as notifier, ExitStack() as stack:
        if metrics_port is not None:
            stack.callback(_serve(metrics_port, metrics_host))
        if once:
            _settle_once(workers, leave.is_set)
            return
        try:
            dedup.worker.work(stop=notifier.is_set, poll=poll, workers=workers, progress=notifier)
        except KeyboardInterrupt:
            # `late`: the command took too long to stop, and was ended; exit with 0. Otherwise a second signal
            # ended the command; exit with the code of that signal.
            if not leave.late:
                raise
            log.warning("stopped in the middle of a statement, which is undone; nothing is lost")


def _settle_once(workers: int | None, stop: Callable[[], bool]) -> None:
    with corpus(make=True) as dd:
        report = dd.backfill(workers=workers, stop=stop)
    if report.taken_over:
        log.warning("took over from a run that is gone: %s", report.taken_over)
    if report.already_running:
        log.info("a run is at work %s; nothing to do", report.running, extra={"event": "standing by"})
    else:
        logs.settled(report)
    if report.stopped:
        unfinished()
    if report.deferred:
        raise typer.Exit(1)


def _serve(port: int, host: str) -> Callable[[], None]:
    needs("--metrics-port", "metrics", METRICS_PACKAGES)
    metrics = dedup.metrics.Metrics()
    try:
        closing = metrics.serve(port, host)
    except OSError as error:
        raise InputError(f"metrics: {host}:{port} cannot be used: {error.strerror}") from None
    port = metrics.port
    log.info("metrics on http://%s:%d/metrics", host, port, extra={"event": "metrics", "port": port})
    return closing
