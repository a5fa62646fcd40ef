"""Refusals of `dedup serve` before it starts. Other modules of this folder test its answers."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from dedup.base.extras import installing
from dedup.extras.serve.commands import serve as web
from tests.cli.conftest import Dedup


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_without_a_token_other_machines_are_kept_out(
    dedup: Dedup,
    monkeypatch: pytest.MonkeyPatch,
    host: str,
) -> None:
    monkeypatch.delenv("DEDUP_SERVE_TOKEN", raising=False)
    result = dedup("serve", "--host", host, "--port", "0")
    assert result.code == 2
    assert "--token-file" in result.err
    assert result.err.count("\n") == 1


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--token-file", "nowhere"), "the token cannot be read from nowhere"),
        (("--token-file", "short"), "at least 16 ASCII characters"),
        (("--token-file", "words"), "one word"),
        (("--token-file", "bytes"), "it is not UTF-8"),
        (("--host", "no.such.host.invalid"), "there is no host"),
        (("--host", ""), "there is no host"),
        (("--port", "{taken}"), "cannot listen on port"),
        (("--rate", "0"), "--rate"),
    ],
)
def test_what_cannot_be_served_is_wrong_usage(
    dedup: Dedup,
    tmp_path: Path,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    (tmp_path / "short").write_text("secret")
    (tmp_path / "words").write_text("a secret of many words")
    (tmp_path / "bytes").write_bytes(b"\xff" * 20)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        result = dedup("serve", *(argument.replace("{taken}", port) for argument in arguments))
    assert result.code == 2
    assert said in result.err
    assert "secret" not in result.err


def test_without_the_extra_it_is_named(dedup: Dedup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "SERVER_PACKAGES", ("uvicorn", "no_such_package"))
    result = dedup("serve")
    assert result.code == 2
    assert f"needs no_such_package: run `{installing('serve')}`" in result.err
