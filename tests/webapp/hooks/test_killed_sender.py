"""A worker that is killed while it sends: another sends the same delivery, under the same number."""

import signal
import threading

from tests.supervisor.started import eventually
from tests.webapp.hooks.deliveries import ended
from tests.webapp.hooks.receiver import Receiver
from tests.webapp.processes import Surroundings
from webapp.hooks.models import Delivery, Webhook
from webapp.runs.models import Run


def test_a_delivery_survives_sigkill_of_its_worker(
    around: Surroundings, hook: Webhook, receiver: Receiver, run: Run
) -> None:
    """The worker itself finds the end of the run, sends, and is killed before the receiver answers."""
    goes_on = threading.Event()
    receiver.before_answer = lambda: goes_on.wait(60)
    around.environment["PLACETO_HOOKS_ALLOWED"] = "127.0.0.1"
    around.start_redis()
    worker = around.start_worker("cpu")
    ended(run, Run.DONE)
    eventually(lambda: len(receiver.got) == 1, "the receiver has got it")
    assert Delivery.objects.get().status == Delivery.SENDING
    worker.signal(signal.SIGKILL)
    worker.exit_status()
    receiver.before_answer = lambda: None
    goes_on.set()

    around.start_worker("cpu")
    eventually(lambda: Delivery.objects.get().status == Delivery.DONE, "it is delivered")
    first, second = receiver.got
    assert first.body == second.body
    assert first.headers["X-Placeto-Delivery"] == second.headers["X-Placeto-Delivery"]
    delivery = Delivery.objects.get()
    assert (delivery.webhook_id, delivery.event, delivery.tries, delivery.attempts) == (hook.id, "run.finished", 1, 2)
