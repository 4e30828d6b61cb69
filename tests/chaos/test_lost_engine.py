"""An engine that dies, stops or freezes in a run costs no verdict and convicts no agent."""

import random
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from tests.chaos.disturbed import Disturbed
from tests.patience import wait_until
from tests.sandbox.compose_services import STORE
from tests.sandbox.private_engines import folder_of_an_engine, give_base_image
from tests.sandbox.second_engine import SecondEngine, second_engine

pytestmark = pytest.mark.first

_LONGEST = 900  # seconds for what is left of a run


def _stopped(engine: SecondEngine, pause: Callable[[], object]) -> None:
    engine.end(signal.SIGTERM)
    pause()
    engine.begin_again()


def _killed(engine: SecondEngine, pause: Callable[[], object]) -> None:
    engine.end(signal.SIGKILL)
    pause()
    engine.begin_again()


def _frozen(engine: SecondEngine, pause: Callable[[], object]) -> None:
    engine.freeze()
    pause()
    engine.thaw()


FAULTS = (_stopped, _killed, _frozen)


@pytest.mark.docker
@pytest.mark.usefixtures("docker")  # the base image comes from there
@pytest.mark.parametrize("services", ["", STORE], ids=["alone", "services"])
# The SDK leaves the socket open with which it found that nobody answers.
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
def test_run_continues_after_a_lost_engine(
    tmp_path: Path, environ: dict[str, str], chaos_seed: int, whole: bool, services: str
) -> None:
    chance = random.Random(chaos_seed)
    faults = (10 if services else 20) if whole else 2
    with folder_of_an_engine() as folder, second_engine(folder) as engine:
        give_base_image(engine.await_engine())
        environ = {**environ, "DOCKER_HOST": engine.base_url}
        run = Disturbed(
            folder=tmp_path / "lost",
            environ=environ,
            sandbox="docker",
            attempts=(4 if services else 8) if whole else 1,
            services=services,
            more=("--max-outage", "5", *(() if whole else ("--integrity-controls", "off"))),
        )
        with run.started() as program:
            wait_until(lambda: (run.run / "run.json").exists(), within=_LONGEST)
            for _ in range(faults):
                if _has_ended(program, chance.uniform(2, 12 if whole else 6)):
                    break
                fault = _stopped if services else chance.choice(FAULTS)
                away = round(chance.uniform(0.5, 6), 1)
                print(f"{fault.__name__} for {away} s")  # noqa: T201 - to repeat a failure
                fault(engine, lambda away=away: Event().wait(away))
                engine.await_engine()
            _, reported = program.communicate(timeout=_LONGEST)

        assert program.returncode in {0, 75}, reported
        assert "Traceback" not in reported
        run.check_all_but_lost()
        again = run.to_the_end()  # the next start finds what could not be removed meanwhile
        assert again.returncode == program.returncode, again.stderr
        with engine.await_engine().api("look for leftovers") as api:
            assert api.containers(all=True) == []
            assert not api.volumes()["Volumes"]
            assert {each["Name"] for each in api.networks()} <= {"bridge", "host", "none"}
            assert api.images(filters={"dangling": True}) == []


def _has_ended(program: "subprocess.Popen[str]", within: float) -> bool:
    try:
        program.wait(timeout=within)  # whatever moment it comes to, all has to hold
    except subprocess.TimeoutExpired:
        return False
    return True
